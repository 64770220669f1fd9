// SPDX-License-Identifier: Apache-2.0

// Command virtual measures what reading through a manifest costs beside the same chunks
// stored as Zarr, and what joint requests gain. It appends its tables to a file; "run" in
// this folder starts it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "../VIRTUAL.md", "append the tables to this `FILE`")
	data := flag.String("data", "", "make the data sets in this `FOLDER`; the default is a temporary one")
	rounds := flag.Int("rounds", 9, "measure so many rounds")
	flag.Parse()
	if err := run(context.Background(), *out, *data, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes the data sets, measures, and appends the tables.
func run(ctx context.Context, out, data string, rounds int) error {
	dir, err := os.MkdirTemp(data, "varve-virtual-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begin := machine()
	near, err := measureNear(ctx, dir, rounds)
	if err != nil {
		return err
	}
	far, err := measureFar(ctx, dir, rounds)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	writeNear(f, begin, rounds, near)
	writeFar(f, rounds, far)
	return f.Close()
}

// machine describes the machine, and what else it does, in a sentence.
func machine() string {
	model := "an unknown processor"
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	load := "unknown"
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(data), " ")
	}
	return fmt.Sprintf("%s, %d cores of %s, with a load of %s at the beginning.", time.Now().Format("2006-01-02"), runtime.NumCPU(), model, load)
}
