// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// launch is what is known about a process from outside.
type launch struct {
	Wall, CPU float64 // seconds
	Peak      int64   // bytes of memory
	Moved     moved
	Out       string // the line that it printed, or the checksum of its output
	Failure   string
}

// The treatment of a program's standard output.
const (
	keep = "keep" // it contains the answer
	sum  = "sum"  // its checksum is the answer
	drop = "drop" // discarded
)

// start runs a program as a child of a small intermediate process. A forked process
// starts with the peak memory of its parent, and this process may have made data sets.
func start(ctx context.Context, limit time.Duration, mode string, program []string) (l launch, err error) {
	self, err := os.Executable()
	if err != nil {
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, self, append([]string{"launch", limit.String(), mode}, program...)...)
	c.Stderr = os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 5 * time.Second
	out, err := c.Output()
	if err != nil {
		return l, fmt.Errorf("launching %s: %w", program[0], err)
	}
	return l, json.Unmarshal(out, &l)
}

// launched is the intermediate process. Its arguments are the time limit, the mode, the
// program and its arguments.
func launched(args []string) int {
	limit, err := time.ParseDuration(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: launch:", err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := json.NewEncoder(os.Stdout).Encode(watch(ctx, args[1], args[2:])); err != nil {
		return 1
	}
	return 0
}

// watch runs a program to its end.
func watch(ctx context.Context, mode string, program []string) (l launch) {
	c := exec.CommandContext(ctx, program[0], program[1:]...)
	var out, messages bytes.Buffer
	crc := crc32.NewIEEE()
	c.Stdout = map[string]io.Writer{keep: &out, sum: crc, drop: nil}[mode]
	if mode == drop {
		c.Stdout = nil
	}
	c.Stderr = &messages
	begin := time.Now()
	err := c.Run()
	l.Wall = time.Since(begin).Seconds()
	if c.ProcessState != nil {
		l.Peak, l.CPU = used(c.ProcessState)
		l.Moved = movedBytes()
	}
	if l.Out = out.String(); mode == sum {
		l.Out = fmt.Sprintf("%016x", crc.Sum32())
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		l.Failure = "took too long"
	case err != nil:
		l.Failure = last(messages.String(), err)
	}
	return l
}

// last returns the last line of a failed program's output, or for Node the line with the
// error, shortened for a table.
func last(messages string, err error) string {
	found := err.Error()
	for line := range strings.Lines(messages) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Node.js ") && !strings.HasPrefix(line, "at ") && line != "}" {
			found = line
		}
	}
	if len(found) > 160 {
		found = strings.ToValidUTF8(found[:160], "") + " …"
	}
	return found
}
