//go:build gc && !purego && !race && !systematic

package lab

// fenced says why a lock that is broken for want of a fence is not broken here.
const fenced = ""
