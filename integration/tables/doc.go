// Package tables makes the option tables of the backends again from the
// installed frameworks, by the committed generators, and compares: what ndc
// checks options against is what the framework has. The tests need the build
// tag conformance.
package tables
