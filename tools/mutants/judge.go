// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bench tests mutants.
type bench struct {
	dir   string
	limit time.Duration
}

// baseline runs the tests of all mutants on the unchanged code. They must exist and
// pass.
func (b *bench) baseline(ctx context.Context, mutants []*mutant, parallel int) error {
	var commands [][]string
	for _, m := range mutants {
		c := m.command(b.limit)
		if !slices.ContainsFunc(commands, func(d []string) bool { return slices.Equal(c, d) }) {
			commands = append(commands, c)
		}
	}
	var errs []error
	each(parallel, commands, func(c []string) string {
		out, err := b.test(ctx, c)
		if err == nil && strings.Contains(out, "[no tests to run]") {
			err = errors.New("no test matches the name")
		}
		if err == nil {
			return ""
		}
		return fmt.Sprintf("without a mutant: go %s: %v\n%s", strings.Join(c, " "), err, out)
	}, func(_ []string, verdict string) {
		if verdict != "" {
			errs = append(errs, errors.New(verdict))
		}
	})
	return errors.Join(errs...)
}

// command returns the arguments of the go command that tests the mutant.
func (m *mutant) command(limit time.Duration) []string {
	args := []string{"test", "-vet=off", "-failfast", "-timeout", limit.String()}
	if m.tests != "" {
		args = append(args, "-run", m.tests)
	}
	return append(args, m.packages...)
}

// test runs the go command. Tests that hang are killed together with the command.
func (b *bench) test(ctx context.Context, args []string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.WaitDelay = time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

// hangs is the verdict on a mutant whose tests timed out without a failure. The cause is
// the mutant or a slow machine.
const hangs = "hangs: no test failed in time"

// hung reports whether tests timed out and none failed.
func hung(out string) bool {
	return strings.Contains(out, "panic: test timed out after ") && !strings.Contains(out, "--- FAIL: ")
}

// judge tests a mutant. It returns "" if a test failed, as it should, and otherwise the
// problem.
func (b *bench) judge(ctx context.Context, m *mutant) string {
	source, err := m.apply()
	if err != nil {
		return err.Error()
	}
	overlay, err := b.overlay(m, source)
	if err != nil {
		return err.Error()
	}
	args := m.command(b.limit)
	out, err := b.test(ctx, slices.Insert(args, 1, "-overlay", overlay))
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case err == nil:
		return "SURVIVED " + strings.Join(m.packages, " ") + " " + m.tests
	case strings.Contains(out, "[build failed]") || !strings.Contains(out, "FAIL"):
		return fmt.Sprintf("does not compile: %v\n%s", err, out)
	case hung(out):
		return hangs
	}
	return ""
}

// overlay writes the mutated file and the overlay file that refers to it.
func (b *bench) overlay(m *mutant, source string) (string, error) {
	name := strings.NewReplacer(" ", "-", "/", "-").Replace(m.name)
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	mutated, overlay := filepath.Join(b.dir, name+".go"), filepath.Join(b.dir, name+".json")
	data, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutated}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(mutated, []byte(source), 0o666), os.WriteFile(overlay, data, 0o666))
}
