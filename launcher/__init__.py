"""What ``course.py`` is made of; every file here reads under Python 3.7 and needs nothing else.

machine      can the course run here, and if not, what to do
environment  .venv: made, filled, repaired, recognised
progress     one line in place of pip's five hundred
student      copies of the chapters, which are never written over
steps        the table of everything that the tests run
shell        programs, files and sentences
"""
