"""The folders of this repository as one package: `app` is imported as `headlight.app`, `model` as `headlight.model`."""

from setuptools import find_packages, setup

setup(
    packages=["headlight", *(f"headlight.{package}" for package in find_packages(include=["app*", "model*"]))],
    script_name="setup.py",  # by which it is told from the package's modules, whatever program builds
)
