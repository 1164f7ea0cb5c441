package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestByHand: launch.sh believes nothing that another job left in the environment
// about its folders.
func TestByHand(t *testing.T) {
	s := newSite(t, "torchtitan", "[]")
	other := filepath.Join(s.folder, "other")
	cmd := exec.Command("bash", filepath.Join(s.out, "launch.sh"))
	cmd.Env = []string{"PATH=" + s.folder + "/bin:" + os.Getenv("PATH"), "HOME=" + s.folder, "FAKE=" + s.folder,
		"NDC_DIR=" + other, "NDC_JOB_DIR=" + other, "NDC_LOG_DIR=" + other + "/logs"}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	mustHold(t, "the ranks' environment", s.read("ranks.env"), "NDC_JOB_DIR="+s.out+"\n", "NDC_DIR="+s.out+"\n", "NDC_LOG_DIR="+s.out+"/logs\n")
	if _, err := os.Stat(other); err == nil {
		t.Error("it wrote into the folder of another job")
	}
}
