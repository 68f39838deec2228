// Package peers drives unmodified locks of other authors, for comparison. Each file adapts one
// and documents the additions. Other languages run in a child process: docs/external-peers.md.
package peers
