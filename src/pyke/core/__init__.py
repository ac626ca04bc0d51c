"""What every stage needs: files, inputs, threads, progress, memory, compilation, hashing, random numbers."""
