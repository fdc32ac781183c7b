"""What people and programs read: the terminal report, the JSON report, progress, timelines and listings.

Names are imported from their modules, so that a command that prints JSON does not load Rich.
"""
