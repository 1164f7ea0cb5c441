package slurm

import (
	"regexp"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/lang/job"
)

// passed are the variables that the scripts set outside the container and
// launch.sh reads inside. Everything else launch.sh sets itself.
var passed = []string{"MASTER_ADDR", "MASTER_PORT", "NDC_DIR", "NDC_JOB_DIR", "NDC_LOG_DIR", "NDC_NODES", "NDC_RANK_LOGS"}

// secrets are the variables of an env_file that programs commonly read; they
// are passed by name so that their values stand in no file.
var secrets = []string{"HF_TOKEN", "WANDB_API_KEY"}

// containerView is how srun starts the node script inside an image, with Pyxis
// or Apptainer.
type containerView struct {
	Image                       render.Word
	Mounts, Pyxis, Apptainer    []render.Word
	UnsurePaths, MountedFolders []render.Word
	Names                       string // of the variables that Apptainer passes on
}

// container is how the job's image starts; nil without one.
func container(j *job.Job) *containerView {
	c := j.Slurm.Container
	if c.Image == "" {
		return nil
	}
	c.Image = image(c)
	v := &containerView{Image: render.Expanding(c.Image)}
	names := append([]string{}, passed...)
	for _, r := range references(j) {
		names = append(names, render.HostVariable(r))
	}
	v.UnsurePaths, v.MountedFolders = unsurePaths(j)
	if j.Slurm.EnvFile != "" {
		names = append(names, secrets...)
	}
	for _, m := range c.Mounts {
		v.Mounts = append(v.Mounts, render.Expanding(m))
	}
	if c.Runtime == "apptainer" {
		v.Names = strings.Join(names, " ")
		v.Apptainer = apptainer(c)
		return v
	}
	v.Pyxis = pyxis(c, names)
	return v
}

// registryImage is an image of a registry: Docker's spelling, of which the first
// part is a registry when it has a dot or a port, and Enroot's with "#".
var registryImage = regexp.MustCompile(`^(?:docker://)?([A-Za-z0-9_.$+-]+@)?([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::[0-9]+)?|[A-Za-z0-9-]+:[0-9]+)[/#]([a-z0-9][^#\s]*)$`)

// image is the container's image as its runtime spells it. Enroot takes
// nvcr.io/nvidia/pytorch for an image of Docker Hub before 4.0
// (src/docker.sh), nvcr.io#nvidia/pytorch in every version; Apptainer takes
// what has no scheme for a file.
func image(c job.Container) string {
	m := registryImage.FindStringSubmatch(c.Image)
	if m == nil || strings.HasSuffix(c.Image, ".sqsh") || strings.HasSuffix(c.Image, ".sif") {
		return c.Image
	}
	if c.Runtime == "apptainer" {
		return "docker://" + m[2] + "/" + m[3]
	}
	return m[1] + m[2] + "#" + m[3]
}

// joined makes one word of an option and a value.
func joined(option, value string) render.Word {
	return render.Shell(option + "=" + render.Expanding(value).String())
}

// pyxis lists the options of srun that start the image; the mounts stand in
// the variable $mounts, which the template builds.
func pyxis(c job.Container, names []string) []render.Word {
	words := []render.Word{
		joined("--container-image", c.Image),
		render.Shell(`"--container-mounts=$mounts"`),
		render.Shell(`"--container-env=` + strings.Join(names, ",") + `"`),
	}
	if c.WorkDir != "" {
		words = append(words, joined("--container-workdir", c.WorkDir))
	}
	if c.MountHome {
		return append(words, render.Shell("--container-mount-home"))
	}
	return append(words, render.Shell("--no-container-mount-home"))
}

// apptainer lists the words that run a command in the image.
func apptainer(c job.Container) []render.Word {
	words := []render.Word{render.Shell("apptainer"), render.Shell("exec"), render.Shell("--nv"), render.Shell(`"--bind=$mounts"`)}
	if c.WorkDir != "" {
		words = append(words, joined("--pwd", c.WorkDir))
	}
	if !c.MountHome {
		words = append(words, render.Shell("--no-home"))
	}
	return append(words, render.Expanding(c.Image))
}
