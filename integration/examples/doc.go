// Package examples hands every example, built by the real program, and every
// golden file to the real frameworks, and every emitted script to shellcheck.
// Its sibling random does the same for jobs that nobody wrote down. The tests
// need the build tag conformance.
package examples
