// Package processors builds ndc for several processors and has each plan and
// build the same jobs: all must write the same bytes. They differ in the last
// bits of what they compute, because some fuse a multiplication with an
// addition; package units says how that is kept out of what ndc writes. The
// tests need the build tag conformance.
package processors
