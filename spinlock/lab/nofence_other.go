//go:build !(amd64 && gc && !purego && !race && !systematic)

package lab

// fenced says why a lock that is broken for want of a fence is not broken here.
// (Under the tag systematic it is, but only for the explorer.)
const fenced = "in this build a release store is a fence, so nothing is missing: it is a plain store on amd64 only, and not under the race detector"
