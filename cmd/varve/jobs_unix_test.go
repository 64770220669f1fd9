// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/store/s3/s3test"
)

// runJob executes one task of a stage in a process of its own. It returns whether the
// task was done, and what the process said.
func runJob(t *testing.T, plan string, stage, task, of int, life time.Duration) (bool, string) {
	p := start(t, "run", plan, "--stage", fmt.Sprint(stage), "--task", fmt.Sprintf("%d/%d", task, of))
	if life > 0 {
		select {
		case <-p.ended:
		case <-time.After(life):
			_ = p.Process.Signal(syscall.SIGKILL) // it may have ended
		}
	}
	<-p.ended
	return p.ProcessState.ExitCode() == 0, p.errs.String()
}

// TestArrayJobs executes the tasks of a plan as array jobs do: eight processes at a time,
// in random order, one task in ten killed and begun again, and one in ten by two
// processes at once. The stored chunks are those that one process stores, byte for byte.
func TestArrayJobs(t *testing.T) {
	racing.Skip(t) // other processes do the work
	tasks := 24
	if os.Getenv("VARVE_LONG") != "" {
		tasks = 400
	}
	for _, where := range []string{"files", "bucket"} {
		t.Run(where, func(t *testing.T) {
			dir, place := jobPlace(t, where)
			alone, shared, plan := filepath.Join(dir, "alone.zarr"), place+"/shared.zarr", filepath.Join(dir, "p.json")
			planJobs(t, dir, alone, shared, plan)
			stages := readStages(t, plan)
			if stages < 2 {
				t.Fatalf("%d stages", stages)
			}
			random := rand.New(rand.NewPCG(1, uint64(len(where))))
			killed, twice := 0, 0
			for stage := range stages {
				var all sync.WaitGroup
				free := make(chan struct{}, 8)
				for _, task := range random.Perm(tasks) {
					life := time.Duration(0)
					if random.IntN(10) == 0 {
						life, killed = time.Duration(random.IntN(60))*time.Millisecond, killed+1
					}
					attempts := 1
					if random.IntN(10) == 0 {
						attempts, twice = 2, twice+1
					}
					for range attempts {
						free <- struct{}{}
						all.Go(func() {
							defer func() { <-free }()
							done, said := life > 0, ""
							if done {
								done, _ = runJob(t, plan, stage, task, tasks, life)
							}
							if !done {
								done, said = runJob(t, plan, stage, task, tasks, 0)
							}
							if !done {
								t.Errorf("stage %d, task %d: %s", stage, task, said)
							}
						})
					}
				}
				all.Wait()
			}
			t.Logf("%d stages of %d tasks: %d killed, %d by two processes at once", stages, tasks, killed, twice)
			out, errs, status := execute(t, "", "run", plan, "--publish")
			if status != 0 && strings.Contains(errs, "--single-writer") {
				// A bucket has no locks that end with a process.
				out, errs, status = execute(t, "", "run", plan, "--publish", "--single-writer")
			}
			if status != 0 {
				t.Fatalf("status %d: %s%s", status, out, errs)
			}
			want, got := chunkSums(t, dir, alone), chunkSums(t, dir, shared)
			if want != got || strings.Count(want, "\n") != 40 {
				t.Errorf("stored\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// jobPlace returns a folder, and a place for an array that jobs change: in that folder,
// or in a bucket.
func jobPlace(t *testing.T, where string) (dir, place string) {
	dir = t.TempDir()
	if where == "files" {
		return dir, dir
	}
	service := s3test.Gateway(t, false)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": service.URL, "AWS_ACCESS_KEY_ID": s3test.User, "AWS_SECRET_ACCESS_KEY": s3test.Secret, "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return dir, "s3://" + service.Bucket(t)
}

// TestTakingJobs lets processes take the tasks of a plan, kills some of them, and begins
// others. The plan is at the place of the array. The stored chunks are those that one
// process stores, byte for byte.
func TestTakingJobs(t *testing.T) {
	racing.Skip(t) // other processes do the work
	for _, where := range []string{"files", "bucket"} {
		t.Run(where, func(t *testing.T) {
			dir, place := jobPlace(t, where)
			alone, shared, plan := filepath.Join(dir, "alone.zarr"), place+"/shared.zarr", place+"/p.json"
			planJobs(t, dir, alone, shared, plan)
			take := func() *process { return start(t, "run", plan, "--take", "1000", "--lease", "1s") }
			random := rand.New(rand.NewPCG(3, uint64(len(where))))
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range 2 { // killed, unless it ends before
						p := take()
						select {
						case <-p.ended:
						case <-time.After(time.Duration(100+random.IntN(500)) * time.Millisecond):
							_ = p.Process.Signal(syscall.SIGKILL) // it may have ended
						}
						<-p.ended
					}
					if p := take(); !hasEnded(p) {
						t.Errorf("%s", p.errs.String())
					}
				})
			}
			all.Wait()
			out := must(t, "", "run", plan, "--status")
			if strings.Count(out, "tasks done") != 3 || strings.Contains(out, " taken") {
				t.Errorf("status: %s", out)
			}
			t.Log(out)
			must(t, "", "run", plan, "--publish", "--ended")
			want, got := chunkSums(t, dir, alone), chunkSums(t, dir, shared)
			if want != got || strings.Count(want, "\n") != 40 {
				t.Errorf("stored\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// chunkSums returns the sums of the stored chunks of an array.
func chunkSums(t *testing.T, dir, node string) string {
	t.Helper()
	list := filepath.Join(dir, "list")
	must(t, "", "vacuum", node, "--grace", "0s", "--yes")
	must(t, "", "check", node, "--write-checksums", list)
	var chunks []string
	for line := range strings.Lines(string(must1(os.ReadFile(list)))) {
		if !strings.Contains(line, "zarr.json") && !strings.Contains(line, "__varve") {
			chunks = append(chunks, line)
		}
	}
	slices.Sort(chunks)
	return strings.Join(chunks, "")
}

// hasEnded waits for a process, and reports whether it has done its work.
func hasEnded(p *process) bool {
	<-p.ended
	return p.ProcessState.ExitCode() == 0
}
