//go:build linux

package trace

const sysRenameat2 = 316
