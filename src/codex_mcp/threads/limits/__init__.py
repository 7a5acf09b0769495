"""Limits for principals: how much each may have (`quotas`), and in which order their work starts (`fairness`).

`admission` applies that order: threads and turns wait there until they may start. Start with `admission`.
"""
