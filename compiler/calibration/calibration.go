// Package calibration holds what a cluster's runs print against what was planned
// for them: how a run stands beside its plan ([Watch]), and what its steps say
// of the machine ([Calibrate]).
//
// It reads plans and the records of package logs. How far a prediction can be
// trusted, and how measurements narrow that, is package uncertainty's; the
// formulas stand in docs/calibrate.md. It opens no files.
package calibration
