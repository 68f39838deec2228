// Package machine describes the computer under test: its processors, their order and shared
// parts, and thread pinning. It has a calibrated clock with its error between processors,
// calibrated work, and the noise of the machine. If a system does not
// offer something, the package reports the reason.
package machine
