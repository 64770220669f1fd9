// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store"
)

// mirrorObjects is the number of chunks that are mirrored, of 4 KiB, in directories of a
// hundred.
const mirrorObjects = 20_000

// mirrorer is a program that makes a mirror.
type mirrorer struct {
	name string
	// command returns the command line. to is a folder, or the name of one in the bucket.
	command func(program, from, to string) []string
	far     bool // it writes to a bucket
	again   bool // it skips what is there
}

// mirrorers are the programs, Varve first.
func mirrorers(endpoint string) []mirrorer {
	there := func(to string) string { return "s3://" + bucketName + "/" + to }
	return []mirrorer{
		{"varve", func(p, from, to string) []string { return []string{p, "copy", from, to, "--sync"} }, false, true},
		{"cp", func(p, from, to string) []string { return []string{p, "-r", from, to} }, false, false},
		{"rsync", func(p, from, to string) []string { return []string{p, "-a", from + "/", to + "/"} }, false, true},
		{"varve", func(p, from, to string) []string { return []string{p, "copy", from, there(to), "--sync"} }, true, true},
		{"s5cmd", func(p, from, to string) []string {
			return []string{p, "--endpoint-url", endpoint, "--log", "error", "sync", from + "/", there(to) + "/"}
		}, true, true},
		{"rclone", func(p, from, to string) []string {
			remote := fmt.Sprintf(":s3,provider=Other,env_auth=true,endpoint=%q:%s/%s", endpoint, bucketName, to)
			return []string{p, "copy", from, remote, "--transfers", "256", "--checkers", "256", "--size-only"}
		}, true, true},
	}
}

// mirrored is the time of one program.
type mirrored struct {
	Name       string
	Far        bool
	New, Again figures
}

// mirrors are the results.
type mirrors struct {
	Machine machine
	Results []*mirrored
}

// mirrorAll measures copies of many small objects, to files and to a bucket, in turns.
func mirrorAll(ctx context.Context, s settings) error {
	scratch, err := os.MkdirTemp("", "varve-mirror-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	from := filepath.Join(scratch, "source.zarr")
	if err := makeMirrored(ctx, from); err != nil {
		return err
	}
	b, err := openBucket(ctx, filepath.Join(scratch, "bucket"))
	if err != nil {
		return err
	}
	defer func() { _ = b.close() }() // the folder of b goes anyway
	if err := os.Setenv("AWS_ENDPOINT_URL", b.url); err != nil {
		return err
	}
	// Wait: what was written less than a minute before it is copied is copied again.
	time.Sleep(65 * time.Second)
	report := &mirrors{Machine: describe(s, nil)}
	var found []mirrorer
	programs := map[string]string{}
	for _, m := range mirrorers(b.url) {
		name, err := exec.LookPath(m.name)
		if err != nil {
			report.Machine.Missing = append(report.Machine.Missing, m.name)
			continue
		}
		programs[m.name] = name
		found, report.Results = append(found, m), append(report.Results, &mirrored{Name: m.name, Far: m.far})
	}
	runs := make([][2][]sample, len(found))
	for round := range s.rounds {
		for i := range found {
			at := (i + round) % len(found) // another one is first in each round
			if err := mirrorOnce(ctx, s, found[at], programs[found[at].name], from, scratch, b, &runs[at]); err != nil {
				return err
			}
		}
	}
	for i, r := range report.Results {
		r.New, r.Again = gather(runs[i][0]), gather(runs[i][1])
	}
	return save(s.out, report)
}

// makeMirrored makes the array whose chunks are mirrored.
func makeMirrored(ctx context.Context, at string) error {
	const rows, columns = mirrorObjects / 100, 100
	spec := zarr.Spec{Shape: []int64{rows, columns * 1024}, Type: dtype.Uint32, Chunks: every(1, 1024)}
	a, err := zarr.CreateArray(ctx, at, spec, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]uint32, rows*columns*1024)
	for i := range v {
		v[i] = r.Uint32()
	}
	return errors.Join(zarr.Write(ctx, a, nil, v), a.Close())
}

// mirrorOnce makes a mirror, makes it again, and counts its files.
func mirrorOnce(ctx context.Context, s settings, m mirrorer, program, from, scratch string, b *bucket, runs *[2][]sample) error {
	to, folder := filepath.Join(scratch, "mirror"), filepath.Join(scratch, "mirror")
	if m.far {
		to, folder = "mirror", filepath.Join(scratch, "bucket", bucketName, "mirror")
	}
	for k := range runs {
		if k > 0 && !m.again {
			break
		}
		args := m.command(program, from, to)
		ctx, cancel := context.WithTimeout(ctx, s.limit)
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		began := time.Now()
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("%v: %w: %s", args, err, out)
		}
		runs[k] = append(runs[k], sample{seconds: time.Since(began).Seconds()})
	}
	files := 0
	err := filepath.WalkDir(folder, func(_ string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files++
		}
		return err
	})
	if err == nil && files != mirrorObjects+1 {
		err = fmt.Errorf("%s has copied %d of %d files", m.name, files, mirrorObjects+1)
	}
	return errors.Join(err, os.RemoveAll(folder))
}

func (m *mirrors) markdown(w io.Writer) {
	fmt.Fprintf(w, "# Mirrors\n\n")
	m.Machine.markdown(w)
	fmt.Fprintf(w, "\nAn array of %d chunks of 4 KiB is copied to another folder, or to a bucket of versitygw on the same machine, and then once more without a\n"+
		"change. The programs take turns; the table has medians in seconds, and ± is half of the difference between the slowest and the fastest run.\n"+
		"The ratio is the time of the program divided by that of Varve: above 1, Varve is faster. Varve makes every file durable\n"+
		"before it is renamed; `cp -r` and `rsync -a` leave that to the system.\n", mirrorObjects)
	for _, far := range []bool{false, true} {
		fmt.Fprintf(w, "\n| to %s | a new mirror | ratio | without a change | ratio |\n|---|---|---|---|---|\n", map[bool]string{false: "a folder", true: "a bucket"}[far])
		var own *mirrored
		for _, r := range m.Results {
			if r.Far != far {
				continue
			}
			if own == nil {
				own = r
			}
			fmt.Fprintf(w, "| %s | %s | %s |\n", r.Name, against(r.New, own.New), against(r.Again, own.Again))
		}
	}
}

// against describes times beside those of Varve.
func against(f, own figures) string {
	if f.Median == 0 || own.Median == 0 {
		return "– | –"
	}
	return fmt.Sprintf("%.2f ± %.0f %% | %.2f", f.Median, 100*f.spread(), f.Median/own.Median)
}
