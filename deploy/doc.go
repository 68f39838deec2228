// Package deploy holds the files that start the lab as many processes on many hosts: a job
// script for Slurm, manifests for Kubernetes, a file for Docker Compose, and a Containerfile. It
// has no code. Its tests check these files against the schemas of their readers, against the
// flags of the program, and, if available, on a Slurm cluster of several nodes.
// docs/many-hosts.md describes their use.
package deploy
