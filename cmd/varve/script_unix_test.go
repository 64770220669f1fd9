// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// schedulers are commands in the place of those of schedulers, which execute the jobs at
// once, the last of an array first.
var schedulers = map[string]string{
	// The job comes from standard input.
	"sbatch": `
last=0
for o; do case $o in --array=0-*) last=${o#--array=0-} ;; --dependency=afterok:17 | --dependency=afterany:17) ;; --dependency*) exit 1 ;; esac; done
cat >"$0.job"
while [ "$last" -ge 0 ]; do
	SLURM_ARRAY_TASK_ID=$last sh "$0.job" >&2
	last=$((last - 1))
done
echo "17;cluster"
`,
	// One line of the manifest has the command, as YAML.
	"kubectl": `
case $1 in
get) echo Complete; exit ;;
esac
cat >"$0.job"
n=$(sed -n 's/^  completions: //p' "$0.job")
k=$((${n:-1} - 1))
while [ "$k" -ge 0 ]; do
	JOB_COMPLETION_INDEX=$k $(sed -n 's/^ *command: \[\(.*\)\]$/\1/p' "$0.job" | tr -d '",') >&2
	k=$((k - 1))
done
`,
	// The last argument has the command, as JSON.
	"aws": `
n=1
for o; do case $o in size=*) n=${o#size=} ;; jobId=18 | --depends-on) ;; jobId=*) exit 1 ;; esac; done
k=$((n - 1))
while [ "$k" -ge 0 ]; do
	AWS_BATCH_JOB_ARRAY_INDEX=$k varve $(printf %s "$o" | sed 's/.*"command":\[\([^]]*\)\].*/\1/' | tr ',' ' ' | tr -d '"') >&2
	k=$((k - 1))
done
echo 18
`,
}

// TestScripts executes the scripts for schedulers. The stored chunks are those that one
// process stores.
func TestScripts(t *testing.T) {
	racing.Skip(t) // other processes do the work
	bin := t.TempDir()
	program := func(name, text string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nset -eu\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program("varve", fmt.Sprintf("%s=- exec '%s' -test.run='^TestCommandItself$' -- \"$@\"\n", asCommand, os.Args[0]))
	for name, text := range schedulers {
		program(name, text)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("QUEUE", "q")
	t.Setenv("DEFINITION", "d")
	for _, flags := range []string{"slurm", "kubernetes --image registry/varve:1", "aws-batch", "aws-batch --tasks 1",
		"slurm --take 6", "kubernetes --image registry/varve:1 --take 1000", "aws-batch --take 1"} {
		t.Run(flags, func(t *testing.T) {
			dir := t.TempDir()
			alone, shared, plan := filepath.Join(dir, "alone.zarr"), filepath.Join(dir, "shared.zarr"), filepath.Join(dir, "p.json")
			for _, node := range []string{alone, shared} {
				must(t, "", "create", node, "--shape", "64,64", "--dtype", "uint8", "--chunks", "4,64")
				for row := range 8 {
					must(t, "", "write", node, "--select", fmt.Sprintf("%d:%d", 8*row, 8*row+7), "--value", fmt.Sprint(row+1))
				}
			}
			rechunk := []string{"--chunks", "64,4", "--memory", "2kB"}
			must(t, "", append([]string{"rechunk", alone}, rechunk...)...)
			must(t, "", append([]string{"rechunk", shared, "--plan", plan}, rechunk...)...)
			if readStages(t, plan) < 2 {
				t.Fatal("the plan has one stage")
			}
			args := append([]string{"run", plan, "--tasks", "5", "--script"}, strings.Fields(flags)...)
			c := exec.CommandContext(t.Context(), "sh")
			c.Stdin = strings.NewReader(must(t, "", args...))
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if want, got := chunkSums(t, dir, alone), chunkSums(t, dir, shared); want != got || strings.Count(want, "\n") != 16 {
				t.Errorf("stored\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestScriptUsage(t *testing.T) {
	dir := t.TempDir()
	node, plan := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "p'$x.json")
	must(t, "", "create", node, "--shape", "8", "--dtype", "uint8", "--chunks", "1")
	must(t, "", "rechunk", node, "--chunks", "8", "--plan", plan)
	for flags, want := range map[string]string{
		"--script pbs":                     "want slurm, kubernetes or aws-batch",
		"--script kubernetes":              "needs --image",
		"--script slurm --tasks 0":         "at least 1",
		"--script aws-batch --tasks 10001": "at most 10000",
		"--script slurm --publish":         "executes nothing",
		"--script slurm --take 0":          "at least 1",
		"--tasks 5":                        "for --script",
		"--script slurm --exact":           "not in a script",
		"--ended":                          "for --publish",
		"--task auto/5":                    "no job of an array",
		"--task auto":                      "want K/N",
	} {
		if _, errs, status := execute(t, "", append([]string{"run", plan}, strings.Fields(flags)...)...); status != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", flags, status, errs)
		}
	}
	// A name is one word, whatever it has.
	if script := must(t, "", "run", plan, "--script", "slurm"); !strings.Contains(script, `/p'\''$x.json' --stage 0`) {
		t.Error(script)
	}
	t.Setenv("JOB_COMPLETION_INDEX", "7")
	if _, errs, status := execute(t, "", "run", plan, "--task", "auto/5"); status != 2 || !strings.Contains(errs, "auto/5") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestPlanInStore writes a plan to a location, and executes it from there.
func TestPlanInStore(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int32", "--chunks", "2")
	must(t, numbers(0, 4), "write", node, "--format", "json")
	t.Setenv("STORAGE_EMULATOR_HOST", googleFake(t))
	const plan = "gs://bucket/plans/p.json"
	must(t, "", "rechunk", node, "--chunks", "4", "--plan", plan)
	must(t, "", "run", plan, "--stage", "0", "--task", "0/1")
	must(t, "", "run", plan, "--publish")
	if got := chunkShapes(t, node); got != "every [4]" {
		t.Error(got)
	}
	// A script has no credentials.
	secret := "s3://bucket/a.zarr?endpoint=" + os.Getenv("STORAGE_EMULATOR_HOST") + "&access_key_id=user&secret_access_key=secret"
	if _, errs, status := execute(t, "", "run", secret, "--script", "slurm"); status != 2 || strings.Contains(errs, "=secret") || !strings.Contains(errs, "by their environment") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, "", "run", "gs://bucket/none.json"); status != 1 || !strings.Contains(errs, "none.json") {
		t.Errorf("status %d, %s", status, errs)
	}
}
