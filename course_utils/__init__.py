"""Helpers of the PyTorch 2 course, each with one job.

Start with ``runtime`` (every notebook calls it first) and ``checks`` (every exercise ends there).

layer 3   __main__     python -m course_utils doctor | speedup | explain | warm | where
                       and, for those who maintain, ledger | drift
layer 2   widgets      sliders around plain functions, the compiler's stages to click through
          plotting     timing bars, curves, image grids, tensors drawn as boxes
          quiz         multiple-choice questions that also work in the book
          warm         compile ahead what the chapters compile
          drift        which cells differ under another torch
layer 1   benchmark    compare calls and say honestly which is faster
          workloads    the ready pairs of the speed-up demo
          compile_stack  what the compiler made of a function
          data         small real data without a network, larger sets where there is one
          training     fit, evaluate, History: built in chapter 6
          checkpoint   save, load and resume a training: built in chapter 13
          checks       the exercises: check, hint, expect
          ledger       public claims about PyTorch 2, each with the probe that decides it
layer 0   runtime      seed, device, threads, compile cache, quiet loggers
          warmed       take over what was compiled ahead
          places       the folders that the course uses
          unreadable   what a file is, where a checkpoint was expected
          arguments    what was handed over by mistake, where fit and resume would go wrong late
          doctor       what is wrong with this installation, and what to do

Imports point downwards only, and importing the package imports nothing.
"""
