"""The web application: `app.py` routes, `jobs.py` pieces of work, `worker_pool.py` worker
processes, `rate_limits.py` one job per client, `middleware.py` checks of every request, `server.py`
start and stop.
"""
