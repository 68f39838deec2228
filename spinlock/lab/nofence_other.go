//go:build !(amd64 && gc && !purego && !race && !systematic)

package lab

// fenced is why a lock without its fence is not broken in this build, except for the explorer.
const fenced = "in this build a release store is a fence, so nothing is missing: it is a plain store on amd64 only, and not under the race detector"
