#!/bin/sh
# Installs nvcc and what it needs from PyPI's wheels into FOLDER. Then CUDA_HOME=FOLDER/nvidia/cu13 is a
# toolkit that manymove can be compiled with.
set -eu
folder=${1:?usage: cuda_toolkit.sh FOLDER}
release='==13.0.*'
python -m pip install -q --target "$folder" "nvidia-cuda-nvcc$release" "nvidia-cuda-crt$release" \
	"nvidia-nvvm$release" "nvidia-cuda-runtime$release" "nvidia-cuda-cccl$release"
# nvcc looks for libraries in lib64.
ln -sfn lib "$folder/nvidia/cu13/lib64"
