//go:build !(amd64 && gc && !purego && !race && !systematic)

package lab

// fenced is the reason why a lock without its fence is not broken in this build. (Under
// the tag systematic it is broken, but only for the explorer.)
const fenced = "in this build a release store is a fence, so nothing is missing: it is a plain store on amd64 only, and not under the race detector"
