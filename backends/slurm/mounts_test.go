package slurm

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestMounts: what a program opens in a container has to be shared with the host.
func TestMounts(t *testing.T) {
	cases := map[string]struct {
		change func(*job.Job)
		want   string // id and a part of the detail; "" for nothing
	}{
		"mounted":              {func(j *job.Job) {}, ""},
		"no container":         {func(j *job.Job) { j.Slurm.Container = job.Container{}; j.Training.Checkpoint.Path = "/nowhere" }, ""},
		"checkpoint":           {func(j *job.Job) { j.Training.Checkpoint.Path = "/ckpt/x" }, `path-outside-mounts: training.checkpoint.path is "/ckpt/x" in the container, which mounts ["/data:/data:ro", "/lustre/ckpt:/checkpoints"]: what is written there ends with the container. Add the folder of the host to slurm.container.mounts, such as "/ckpt:/ckpt"`},
		"the host's name":      {func(j *job.Job) { j.Training.Checkpoint.Path = "/lustre/ckpt/x" }, "path-outside-mounts: training.checkpoint.path"},
		"a longer name":        {func(j *job.Job) { j.Training.Checkpoint.Path = "/checkpoints2/x" }, "path-outside-mounts: training.checkpoint.path"},
		"a trailing slash":     {func(j *job.Job) { j.Slurm.Container.Mounts[1] = "/lustre/ckpt:/checkpoints/" }, ""},
		"dots":                 {func(j *job.Job) { j.Training.Checkpoint.Path = "/checkpoints/../x" }, "path-outside-mounts: training.checkpoint.path"},
		"no mounts":            {func(j *job.Job) { j.Slurm.Container.Mounts = nil; j.Training.Data = job.Data{Mock: true} }, "mounts nothing"},
		"data":                 {func(j *job.Job) { j.Training.Data.Sources[0].Path = "/corpus/a" }, `path-outside-mounts: training.data.source["a"].path is "/corpus/a" in the container, which mounts ["/data:/data:ro", "/lustre/ckpt:/checkpoints"]: nothing is there but what the image brings`},
		"mock data":            {func(j *job.Job) { j.Training.Data.Mock = true; j.Training.Data.Sources[0].Path = "/corpus/a" }, ""},
		"validation":           {func(j *job.Job) { j.Training.Data.Validation = &job.Validation{Path: "/corpus/v"} }, "training.data.validation.path"},
		"cache":                {func(j *job.Job) { j.Training.Data.CachePath = "/cache" }, "training.data.cache_path"},
		"read-only cache":      {func(j *job.Job) { j.Training.Data.CachePath = "/data/cache" }, `path-read-only: training.data.cache_path is "/data/cache", which the run writes to, and the container mounts "/data" read-only`},
		"read-only, with more": {func(j *job.Job) { j.Slurm.Container.Mounts[1] += ":rslave+ro" }, "path-read-only: training.checkpoint.path"},
		"writable inside": {func(j *job.Job) {
			c := &j.Slurm.Container
			c.Mounts = append(c.Mounts, "/x:/data/cache")
			j.Training.Data.CachePath = "/data/cache/a"
		}, ""},
		"tokenizer":           {func(j *job.Job) { j.Training.Data.Tokenizer.Path = "/models/llama" }, "training.data.tokenizer.path"},
		"a name on the hub":   {func(j *job.Job) { j.Training.Data.Tokenizer.Path = "meta-llama/Llama-3.1-8B" }, ""},
		"start":               {func(j *job.Job) { j.Training.Start = job.Start{From: "checkpoint", Path: "/old"} }, "training.start.path"},
		"tensorboard":         {func(j *job.Job) { j.Training.Logging.TensorBoardPath = "/board" }, "training.logging.tensorboard_path"},
		"beside the logs":     {func(j *job.Job) { j.Training.Logging.TensorBoardPath = "/logs/megatron/board" }, ""},
		"relative":            {func(j *job.Job) { j.Training.Checkpoint.Path = "runs" }, `training.checkpoint.path is "runs", which in the container starts in the image's own working folder: what is written there ends with the container. Write the whole path`},
		"relative, advised":   {func(j *job.Job) { j.Slurm.Container.Mounts[1] = "/runs:/runs"; j.Training.Checkpoint.Path = "runs" }, "path-outside-mounts"},
		"relative, mounted":   {func(j *job.Job) { j.Slurm.Container.WorkDir = "/checkpoints"; j.Training.Checkpoint.Path = "runs" }, ""},
		"the same variable":   {func(j *job.Job) { use(j, "${S}/x", "${S}:${S}") }, ""},
		"read-only variable":  {func(j *job.Job) { use(j, "${S}/x", "${S}:${S}:ro") }, "path-read-only"},
		"another variable":    {func(j *job.Job) { use(j, "${S}/x", "/lustre:/lustre") }, ""}, // the batch script looks
		"home":                {func(j *job.Job) { j.Slurm.Container.MountHome = true; j.Training.Checkpoint.Path = "${HOME}/x" }, ""},
		"pyxis keeps /tmp":    {func(j *job.Job) { j.Training.Data.CachePath = "/tmp/x" }, "training.data.cache_path"},
		"apptainer shares it": {func(j *job.Job) { j.Slurm.Container.Runtime = "apptainer"; j.Training.Data.CachePath = "/tmp/x" }, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			j, _, l := example()
			j.Training.Checkpoint.Path = l.CheckpointPath
			j.Training.Data = job.Data{Sources: []job.DataSource{{Name: "a", Path: "/data/a"}}, Tokenizer: job.Tokenizer{Path: "/data/t"}}
			c.change(j)
			var diags diag.List
			CheckMounts(j, &diags)
			got := ""
			for _, d := range diags {
				got += string(d.ID) + ": " + d.Detail + "\n"
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Count(got, "\n") > 1 {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func use(j *job.Job, checkpoint, mount string) {
	j.Training.Checkpoint.Path = checkpoint
	j.Slurm.Container.Mounts = []string{mount, "/data:/data"}
}

// TestMountsOnTheCluster: where a path names a variable, the batch script says
// that it is not mounted, before anything starts.
func TestMountsOnTheCluster(t *testing.T) {
	for _, c := range []struct{ path, mount, scratch, want string }{
		{"${S}/x", "/lustre:/lustre", "/lustre/me", "starts"},
		{"${S}/x", "/lustre:/lustre/", "/lustre/me", "starts"},
		{"${S}/x", "/lustre:/lustre", "/lustre2/me", "/lustre2/me/x lies under no mount"},
		{"/lustre/me/x", "${S}:${S}", "/lustre", "starts"},
		{"/lustre/me/x", "${S}:${S}", "/scratch", "/lustre/me/x lies under no mount"},
	} {
		j, p, l := example()
		use(j, c.path, c.mount)
		script := string(files(t, j, p, l).Files[0].Data)
		from := strings.Index(script, "# Where these paths lie")
		to := strings.Index(script, "\ncontainer=(")
		if from < 0 || to < from {
			t.Fatalf("%+v: no check in\n%s", c, script)
		}
		cmd := exec.Command("bash", "-euo", "pipefail", "-c", "die() { echo \"$*\"; exit 1; }; mounts=; NDC_JOB_DIR=/d NDC_LOG_DIR=/l\n"+script[from:to]+"\necho starts")
		cmd.Env = append(cmd.Environ(), "S="+c.scratch)
		out, _ := cmd.CombinedOutput()
		if !bytes.HasPrefix(out, []byte(c.want)) {
			t.Errorf("%+v: %s", c, out)
		}
	}
}
