// SPDX-License-Identifier: Apache-2.0

package running

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
)

// The values of --runner.
const (
	localRunner = "local"
	beamRunner  = "beam"
)

// beamProgram executes plans on Apache Beam. It is a program of its own, because the
// library of Beam is larger than this command.
const beamProgram = "varve-beam"

// runnerFlag adds --runner.
func (r *running) runnerFlag(c *cobra.Command) {
	flagtext.Var(c.Flags(), &r.runner, "runner", localRunner, "the `RUNNER` that executes the tasks: local, which is this process, or beam, the program "+beamProgram+", which gets the flags after --",
		flagtext.OneOf(localRunner, beamRunner))
	flagtext.Propose(c, "runner", localRunner, beamRunner)
}

// runnerArguments accepts the plan and, after --, the flags of a runner.
func runnerArguments(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return usage.Arguments("PLAN")(cmd, args)
	}
	if runner := cmd.Flag("runner").Value.String(); runner == localRunner {
		return failure.BadUsage("flags after -- are for --runner beam")
	}
	return usage.Arguments("PLAN")(cmd, args[:dash])
}

// runBeam executes a plan on Beam, with the flags of the runner.
func (r *running) runBeam(cmd *cobra.Command, plan string, flags []string) error {
	program, err := findBeam()
	if err != nil {
		return err
	}
	args := []string{planfile.Absolute(plan)}
	if cmd.Flags().Changed("tasks") {
		args = append(args, "--tasks", strconv.Itoa(r.tasks))
	}
	if session.WantsJSON(cmd) {
		args = append(args, "--json")
	}
	c := exec.CommandContext(cmd.Context(), program, append(append(args, "--"), flags...)...)
	c.Stdin, c.Stdout, c.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second // what it has begun, another run finishes
	var status *exec.ExitError
	if err = c.Run(); errors.As(err, &status) {
		return failure.Verdict(beamProgram + ": " + status.String())
	}
	return err
}

// findBeam returns the program beside this one, or else in the usual folders.
func findBeam() (string, error) {
	name := beamProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	found, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", failure.NotFound("%s is neither beside varve nor in PATH: build it in a clone (cd job/beam && GOWORK=off go install ./cmd/%s)", beamProgram, beamProgram)
	}
	return found, err
}
