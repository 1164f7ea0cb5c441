package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/units"
)

func newTest(stdout, stderr io.Writer) *cobra.Command {
	var asJSON bool
	var filter, junit string
	var sites []string
	c := &cobra.Command{
		Use: "test [DIR]", Short: "Run the tests beside the jobs, writing nothing", Args: takes(0, 1, "one DIR or FILE at most"),
		Long: `Run the tests of DIR (default: the working directory), or of one FILE, which
stand in *.ndctest.hcl beside the jobs. Each run plans and emits jobs in memory
with variables of its own, and passes when what fails is what it expects and
every assert holds for every plan. Exit code 1 tells that a run failed.`,
		RunE: func(c *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, asJSON)
			name := "."
			if len(args) > 0 {
				name = args[0]
			}
			chosen, err := regexp.Compile(filter)
			if err != nil {
				return wrongUsage(c, "--filter %q is no regular expression: %v.", filter, err)
			}
			if err := maybeJUnit(junit); err != nil {
				return err
			}
			tests, diags := lang.LoadTests(disk{}, filepath.ToSlash(name))
			if diags.HasErrors() {
				t.diagnostics(diags, tests.Files)
				return exitError(exitInput)
			}
			runs := slices.DeleteFunc(tests.Runs, func(r lang.TestRun) bool { return !chosen.MatchString(r.Name) })
			if len(runs) == 0 {
				return wrongUsage(c, "--filter %q matches no name of the %s.", filter, units.Count(len(tests.Runs), "run"))
			}
			s := summarize(runAll(runs, sites))
			if err := s.print(t, junit); err != nil {
				return err
			}
			if s.Failed > 0 {
				return exitError(exitInput)
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&sites, "site", nil, "plan runs that name no site for this one instead of the jobs' own; may be repeated")
	c.Flags().StringVar(&filter, "filter", "", "only runs whose names match this regular expression")
	c.Flags().StringVar(&junit, "junit", "", "write the results to a FILE in JUnit's XML")
	c.Flags().BoolVar(&asJSON, "json", false, "print results and diagnostics as JSON")
	return c
}

// testResults are those of all runs, as --json prints them.
type testResults struct {
	FormatVersion string       `json:"format_version"`
	NDCVersion    string       `json:"ndc_version"`
	Passed        int          `json:"passed"`
	Failed        int          `json:"failed"`
	Runs          []testResult `json:"runs"`
}

// testResult is that of one run.
type testResult struct {
	File     string     `json:"file"`
	Name     string     `json:"name"`
	Passed   bool       `json:"passed"`
	Plans    []testPlan `json:"plans"`
	Failures diag.List  `json:"failures"`
}

// testPlan is a plan that a run made.
type testPlan struct {
	Job      string `json:"job"`
	Backend  string `json:"backend"`
	Feasible bool   `json:"feasible"`
}

// testFormatVersion is the version of the results' JSON.
const testFormatVersion = "1.0"

func summarize(results []testResult) *testResults {
	s := &testResults{FormatVersion: testFormatVersion, NDCVersion: version, Runs: results}
	for _, r := range results {
		if r.Passed {
			s.Passed++
		} else {
			s.Failed++
		}
	}
	return s
}

// runAll runs tests beside one another; results are in the order of the runs. A
// panic of one becomes the caller's.
func runAll(runs []lang.TestRun, sites []string) []testResult {
	results := make([]testResult, len(runs))
	var next atomic.Int64
	var workers sync.WaitGroup
	var defect atomic.Pointer[string]
	for range min(len(runs), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
					defect.CompareAndSwap(nil, &text)
				}
			}()
			for i := int(next.Add(1)) - 1; i < len(runs); i = int(next.Add(1)) - 1 {
				results[i] = runTest(&runs[i], sites)
			}
		})
	}
	workers.Wait()
	if text := defect.Load(); text != nil {
		panic(*text)
	}
	return results
}

// testRun is one run under way.
type testRun struct {
	run      *lang.TestRun
	happened []string // names of what failed or was warned of
	failures diag.List
}

// runTest plans the jobs of a run and compares what failed with what it expects.
func runTest(r *lang.TestRun, sites []string) testResult {
	t := &testRun{run: r}
	modules, diags := fetchedFor(disk{}, r.File)
	var w *lang.Workspace
	if !diags.HasErrors() {
		var wrong diag.List
		w, wrong = r.Load(lang.Options{NDCVersion: version, Sites: sites, Modules: modules})
		diags.Append(wrong)
	}
	if !diags.HasErrors() {
		diags.Append(check(w.Jobs))
	}
	var plans planned
	if !diags.HasErrors() {
		reported := make([]diag.Owned, len(w.Jobs))
		for i := range w.Jobs {
			j := &w.Jobs[i]
			c, more := compile(&request{job: j, policies: judges(w, i), locked: modules.Lock.Find(j.Name, j.Backend.Kind, j.Site)})
			reported[i] = owned(j, more)
			if c != nil {
				plans.list = append(plans.list, c)
				t.policies(c)
			}
		}
		diag.Attribute("job", reported, diag.Error)
		for i := range reported {
			diags.Append(reported[i].List)
		}
	}
	for _, d := range diags {
		t.happen(d, string(d.ID))
	}
	if !diags.HasErrors() {
		t.infeasible(&plans)
	}
	result := testResult{File: r.File, Name: r.Name, Plans: []testPlan{}}
	for i, c := range plans.list {
		result.Plans = append(result.Plans, testPlan{Job: c.job.Name, Backend: c.job.Backend.Kind, Feasible: c.plan.Feasible})
		if !diags.HasErrors() {
			t.failures.Append(w.Assert(i, c.outcome()))
		}
	}
	t.close(len(plans.list) > 0 && !diags.HasErrors())
	result.Failures, result.Passed = t.failures, len(t.failures) == 0
	return result
}

// happen notes what was reported under some names. An error is a failure unless
// one of the names is expected.
func (t *testRun) happen(d diag.Diagnostic, names ...string) {
	t.happened = append(t.happened, names...)
	expected := slices.ContainsFunc(names, func(name string) bool { return slices.Contains(t.run.ExpectFailures, name) })
	if d.Severity == diag.Error && !expected {
		if d.Range.IsZero() {
			d.Range = t.run.Range
		}
		t.failures = append(t.failures, d)
	}
}

func (t *testRun) policies(c *compiled) {
	for _, v := range c.verdicts {
		for _, d := range v.Reports {
			t.happen(d, v.Name, string(d.ID))
		}
	}
}

// infeasible notes the plans that are missing: those without which nothing would
// be built.
func (t *testRun) infeasible(plans *planned) {
	for _, c := range plans.list {
		others := planned{list: slices.DeleteFunc(slices.Clone(plans.list), func(o *compiled) bool { return o.job.Name != c.job.Name })}
		if c.plan.Feasible || !c.job.Backend.Required && !others.miss() {
			continue
		}
		var names, reasons []string
		for _, r := range c.plan.Infeasible.Reasons {
			names = append(names, r.ID)
			reasons = append(reasons, fmt.Sprintf("%s [%s]", r.Summary, r.ID))
		}
		t.happen(diag.Diagnostic{ID: IDNoPlan, Summary: "No feasible plan", Range: t.run.Range,
			Detail: fmt.Sprintf("%s has no feasible plan with %s: %s.", c.job.Name, c.job.Backend.Kind, strings.Join(reasons, "; "))}, append(names, string(IDNoPlan))...)
	}
}

// close reports what was expected and did not happen. Asserts that no plan was
// there for did not hold either.
func (t *testRun) close(asked bool) {
	for _, name := range t.run.ExpectFailures {
		if slices.Contains(t.happened, name) {
			continue
		}
		also := ""
		if list := distinct(t.happened); len(list) > 0 {
			also = " What failed or was warned of: " + strings.Join(list, ", ") + "." + diag.DidYouMean(name, list)
		}
		t.failures.Error(IDExpectedFailure, t.run.Range, "Expected failure did not happen",
			fmt.Sprintf("The run expects %q, and no policy, diagnostic or reason of that name failed.%s", name, also))
	}
	if t.run.Asserts > 0 && !asked && len(t.failures) == 0 {
		t.failures.Error(IDExpectedFailure, t.run.Range, "Asserts without a plan",
			"What was expected to fail leaves no plan, so that the asserts of the run cannot be asked. Remove them, or test them in another run.")
	}
}

func distinct(names []string) []string {
	list := slices.Clone(names)
	slices.Sort(list)
	return slices.Compact(list)
}

// print shows the results, and writes them to a file when it has a name.
func (s *testResults) print(t *terminal, junit string) error {
	if junit != "" {
		if err := saveFile(junit, s.junit()); err != nil {
			return fmt.Errorf("writing %s: %w", junit, cause(err))
		}
	}
	if t.json {
		for i := range s.Runs {
			if s.Runs[i].Failures == nil {
				s.Runs[i].Failures = diag.List{}
			}
		}
		return t.printJSON(s)
	}
	var b strings.Builder
	file := ""
	for _, r := range s.Runs {
		if r.File != file {
			file = r.File
			fmt.Fprintln(&b, inLine(file))
		}
		r.write(&b)
	}
	fmt.Fprintf(&b, "%d passed, %d failed\n", s.Passed, s.Failed)
	return t.print(b.String())
}

func (r *testResult) write(b *strings.Builder) {
	verdict := "pass"
	if !r.Passed {
		verdict = "FAIL"
	}
	fmt.Fprintf(b, "  %s  %s\n", verdict, r.Name)
	for _, d := range r.Failures {
		fmt.Fprintf(b, "        %s\n", failureTitle(&d))
		for _, line := range strings.Split(wordwrap.WrapString(d.Detail, 100), "\n") {
			fmt.Fprintf(b, "          %s\n", line)
		}
	}
}

func failureTitle(d *diag.Diagnostic) string {
	return fmt.Sprintf("%s [%s] (%s line %d)", d.Summary, d.ID, d.Range.Filename, d.Range.Start.Line)
}

// The results in the XML that CI systems read, without times, so that the same
// files give the same bytes.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name     string         `xml:"name,attr"`
	Class    string         `xml:"classname,attr"`
	Failures []junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// maybeJUnit reports a file that is no results of tests, and would be replaced by some.
func maybeJUnit(name string) error {
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // what cannot be written is said later
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, cause(err))
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, cause(err))
	}
	if !bytes.Contains(head, []byte("<testsuite")) {
		return usageError(name + " is there and holds no results in JUnit's XML; --junit replaces those alone. Choose another name, or remove it.")
	}
	return nil
}

func (s *testResults) junit() []byte {
	suites := junitSuites{Tests: len(s.Runs), Failures: s.Failed}
	for _, r := range s.Runs {
		n := len(suites.Suites)
		if n == 0 || suites.Suites[n-1].Name != r.File {
			suites.Suites = append(suites.Suites, junitSuite{Name: r.File})
			n++
		}
		suite := &suites.Suites[n-1]
		test := junitCase{Name: r.Name, Class: strings.TrimSuffix(r.File, ".ndctest.hcl")}
		for _, d := range r.Failures {
			test.Failures = append(test.Failures, junitFailure{Message: d.Summary, Type: string(d.ID), Text: failureTitle(&d) + "\n" + d.Detail})
		}
		suite.Tests++
		if !r.Passed {
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, test)
	}
	text, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		panic("ndc: results that XML cannot hold: " + err.Error())
	}
	return append([]byte(xml.Header), append(text, '\n')...)
}
