// Package deploy holds what starts the lab as many processes on many hosts: a job
// script for Slurm, manifests for Kubernetes, a file for Docker Compose, and how to build
// an image. It has no code; its tests hold these files to the schemas of those that read
// them, to the flags of the program, and, where there is one, to a Slurm of several nodes.
// docs/many-hosts.md says how they are used.
//
// Rank 0.
package deploy
