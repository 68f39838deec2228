//go:build gc && !purego && !race && !systematic

package lab

// fenced is why a lock without its fence is not broken in this build, "" if it is.
const fenced = ""
