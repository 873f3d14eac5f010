"""The engine of sweeps: a study is planned, computed and kept, whatever its kinds compute."""
