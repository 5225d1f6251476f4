"""Run the lessons under another torch, and list the cells that differ.

A new release of torch renames, warns and counts anew. Reading its notes tells what might matter;
running the notebooks tells what does. Each notebook runs under both interpreters, so that what
this machine shows under the reference torch, too, is not taken for the other release's doing.

Nothing is imported here: ``close`` is also imported in the other interpreter, which has less.

Kind:    plumbing; CONTRIBUTING says when a maintainer needs it
Imports: the standard library, nbclient, jupyter_client, places
"""
