export PYTHONPATH=/work/site/d1 PATH=/work/site/d1/bin:/work/main/.venv/bin:$PATH OMP_NUM_THREADS=1
cd /tmp/d1
