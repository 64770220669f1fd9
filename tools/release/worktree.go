// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// worktree is the working tree of a clone.
type worktree struct{ root string }

// openWorktree returns the working tree that contains dir. It fails if there are
// uncommitted changes, because the release would commit them.
func openWorktree(dir string) (worktree, error) {
	root, err := worktree{dir}.git("rev-parse", "--show-toplevel")
	if err != nil {
		return worktree{}, err
	}
	w := worktree{root}
	changed, err := w.git("status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("commit or remove these changes first:\n%s", changed)
	}
	return w, err
}

// git runs a git command in the clone and returns what it prints.
func (w worktree) git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir, c.Stderr = w.root, os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
