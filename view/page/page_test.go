package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/golden"
	"github.com/ndc-dev/ndc/view/explain"
	"github.com/ndc-dev/ndc/view/picture"
)

// toy is a step of one forward and one backward pass.
type toy struct{}

func (toy) Timeline() *plan.Timeline {
	return &plan.Timeline{Ranks: [][]plan.Slot{{{Kind: "forward", Start: 0, End: 3}, {Kind: "backward", Start: 3, End: 9}}}}
}

func (toy) Occupancy() *plan.Occupancy {
	some := []units.Bytes{40 * units.GiB}
	return &plan.Occupancy{Lines: []plan.Holder{{ID: "parameters", Name: "parameters"}}, Ranks: []plan.RankHolds{{Passes: []plan.PassHolds{{Most: some, Kept: some}, {Most: some, Kept: some}}, Update: some}}}
}

// Roofline has a product that is bound by compute and one by memory.
func (toy) Roofline() *plan.Roofline {
	return &plan.Roofline{MemoryBandwidth: 3e12, Kernels: []plan.Kernel{{Name: "mlp up", Layers: 4, Peak: 1e15, FLOPs: 7e11, Bytes: 1e9, Seconds: 1e-3}, {Name: "router", Layers: 4, Peak: 1e15, FLOPs: 1e9, Bytes: 1e8, Seconds: 1e-4}}}
}

// example is the report of a job with a plan, and with a backend that has none.
func example() []byte {
	layout := func(tensor int) plan.Layout {
		return plan.Layout{TensorParallel: tensor, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 8 / tensor, MicroBatchSize: 1, MicroBatches: 1}
	}
	p := &plan.Plan{Backend: "megatron", BackendVersion: "core_v0.18.2", Feasible: true, Layout: layout(1),
		Input:    plan.Input{Model: "m <8B>", GlobalBatchSize: 8, SequenceLength: 4096, Precision: "bf16", GPU: "h100_sxm", Nodes: 1, GPUs: 8, Files: []plan.InputFile{{Path: "job.hcl", SHA256: "abc"}}},
		Memory:   plan.Memory{GPUBytes: 80 * units.GiB, UsableBytes: 76 * units.GiB, Peak: plan.Peak{DeviceBytes: 42 * units.GiB, DeviceRangeBytes: [2]units.Bytes{40 * units.GiB, 44 * units.GiB}}},
		Time:     plan.Time{StepSeconds: 10, StepRangeSeconds: [2]units.Seconds{9, 11}, Breakdown: []plan.TimeLine{{ID: "linear", Name: "dense matrix multiplications", Seconds: 10}}},
		Mesh:     plan.Mesh{Groups: []plan.Group{{Name: "data_parallel_shard", Size: 8, Stride: 1, Link: "nvlink", Count: 1}}},
		Warnings: []plan.Warning{{ID: "w", Summary: "Something to know", Detail: "This is why & how."}},
	}
	for i, step := range []units.Seconds{10.5, 12, 11} {
		p.Alternatives = append(p.Alternatives, plan.Alternative{Layout: layout(1 << (i + 1)), StepSeconds: step, PeakDeviceBytes: units.Bytes(30+i) * units.GiB})
	}
	none := &plan.Plan{Backend: "torchtitan", BackendVersion: "0.3.0", Input: p.Input, Warnings: p.Warnings,
		Infeasible: &plan.Infeasible{Reasons: []plan.Reason{{Summary: "stage 0 needs more than there is"}}, Fixes: []plan.Fix{{Change: "cluster.nodes = 2 (now 1)"}}}}
	layouts := func() []plan.Assessed {
		return []plan.Assessed{{Layout: layout(2), StepSeconds: 12, PeakDeviceBytes: 30 * units.GiB, Fits: plan.Fits}}
	}
	return Write("llama & co", "1.2.3", []Part{
		{Plan: p, Subject: &picture.Subject{Job: "llama & co", Plan: p, Details: toy{}, Layouts: layouts}, Sections: []explain.Section{explain.Sensitivity(p, []plan.Sensitivity{{Path: "cluster.network.bandwidth", Change: "10 % less", Step: 10.1, Share: 0.01}})}},
		{Plan: none},
	})
}

// TestGolden: the page of a report is that of its golden.
func TestGolden(t *testing.T) {
	golden.Compare(t, "testdata/report.html", example())
}

// TestStructure: the page is well-formed, loads nothing, tells each warning once and
// before the plans, and names its regions, pictures and tables for those who hear it.
func TestStructure(t *testing.T) {
	page := string(example())
	d := xml.NewDecoder(strings.NewReader(strings.Replace(page, "<!doctype html>", "", 1)))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes := map[string]string{}
		for _, a := range e.Attr {
			attributes[a.Name.Local] = a.Value
		}
		switch {
		case attributes["src"] != "" || e.Name.Local == "link" || strings.HasPrefix(attributes["href"], "http"):
			t.Errorf("<%s> loads something: %v", e.Name.Local, attributes)
		case e.Name.Local == "svg" && (attributes["role"] != "img" || attributes["aria-label"] == ""):
			t.Error("a picture has no words")
		case e.Name.Local == "th" && attributes["scope"] == "":
			t.Error("the head of a column does not say so")
		case attributes["tabindex"] == "0" && attributes["aria-label"] == "":
			t.Error("what is scrolled by keyboard has no name")
		}
	}
	if strings.Count(page, "Something to know") != 1 || strings.Index(page, "Something to know") > strings.Index(page, "id=\"plan-1\"") || strings.Index(page, "id=\"sources\"") < strings.Index(page, "id=\"plan-2\"") {
		t.Error("warnings are not first and once, or sources not last")
	}
}

// TestBrowser opens the page in a browser: nothing is complained of on its console,
// and the table of alternatives is sorted by a click.
func TestBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil || testing.Short() {
		t.Skip("there is no chromium, or -short was given")
	}
	const click = `<script>const head = [...document.querySelectorAll("th")].find(h => h.textContent === "step"); head.firstChild.click(); head.firstChild.click();
document.title = head.getAttribute("aria-sort") + ": " + [...document.querySelectorAll("table.sortable tbody tr")].map(r => r.cells[11].textContent).join(", ");</script>`
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, bytes.Replace(example(), []byte("</body>"), []byte(click+"</body>"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+path)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	dom, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	if want := "<title>descending: 12.00 s, 11.00 s, 10.50 s, 10.00 s</title>"; !bytes.Contains(dom, []byte(want)) {
		t.Errorf("after two clicks the page has not %s but %.300s", want, dom)
	}
	for line := range strings.Lines(complaints.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Error(line)
		}
	}
}
