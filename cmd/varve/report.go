// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// workError is an error of the work of a command. All other errors are wrong usage.
type workError struct{ err error }

func (w *workError) Error() string { return w.err.Error() }
func (w *workError) Unwrap() error { return w.err }

// failed returns an error of the work of a command, with the operation and the node.
func failed(cmd *cobra.Command, err error) error {
	if !failure.IsUsage(err) && !failure.IsAnswer(err) {
		err = failure.On(cmd.Name(), session.Subject(cmd), node.Explain(cmd, err))
	}
	return &workError{err}
}

// statusPipe is the exit status of programs that SIGPIPE kills.
const statusPipe = 128 + 13

// report prints why a command line failed and returns the exit status.
func report(cmd *cobra.Command, args []string, err error) int {
	switch {
	case err == nil:
		return 0
	// A reader such as head closes the pipe when it has enough. Say nothing, and end as
	// cat and others do, which SIGPIPE kills: what was written is not all.
	case errors.Is(err, syscall.EPIPE):
		return statusPipe
	}
	var w *workError
	var part failure.Partial
	// Errors without workError come from packages cobra and pflag, before any work.
	usage := !errors.As(err, &w) || failure.IsUsage(err)
	// If the flags could not be parsed, only args show --json.
	switch programs := slices.Contains(args, "--json") || session.WantsJSON(cmd); {
	// The answer is in the document on standard output.
	case programs && failure.IsAnswer(err):
	case programs:
		reportJSON(cmd, err, usage)
	default:
		cmd.PrintErrf("%s %s\n", console.Styled(cmd.ErrOrStderr(), console.Red, "varve:"), phrase.Printable(sentence(cmd, err)))
		if usage {
			cmd.PrintErrf("Run '%s --help' for usage.\n", cmd.CommandPath())
		}
	}
	switch {
	case usage:
		return 2
	case errors.As(err, &part):
		return 3
	}
	return console.StatusOf(cmd.Context(), err)
}

// sentence returns the message for an error, in one line.
func sentence(cmd *cobra.Command, err error) string {
	var u *failure.Undone
	taken := errors.As(err, &u)
	op, path := operation(cmd, err)
	switch {
	case errors.Is(err, zarr.ErrDecided):
		return decidedText(cmd, err)
	// A note of the command, if there is one, is more precise.
	case errors.Is(err, zarr.ErrIncomplete) && !taken:
		return failure.OneLine(err) + "; the change is visible and must not be repeated"
	case !console.IsInterrupted(cmd.Context(), err):
		return inCommand(cmd, err, failure.ForNode(path, failure.OneLine(err))) + damageHint(err)
	}
	text := strings.TrimSpace("interrupted: " + op + " " + path)
	switch left := leftBehind(cmd); {
	case taken:
		text += "; " + u.Note
	case left != "":
		text += "; " + left
	}
	return text
}

// damageHint returns what to do about a chunk that does not decode, or about a document
// that is cut off, and "" for any other error.
func damageHint(err error) string {
	var e *zarr.Error
	if failure.IsCutOff(err) {
		return "; " + failure.RestoreDocument
	}
	if !errors.Is(err, zarr.ErrCorrupt) || !errors.As(err, &e) || e.Chunk == nil || e.Path == "" {
		return ""
	}
	// Nobody writes chunks of a file of another format, and references are as they are.
	remedy := "restore them, or write them again"
	switch {
	case node.IsForeign(e.Path):
		remedy = "put an undamaged copy of the file in its place"
	case node.IsVirtual(e.Path):
		remedy = "restore the files that they are in"
	}
	return fmt.Sprintf("; varve check %s lists all damaged chunks: %s", phrase.Word(e.Path), remedy)
}

// innerOperations are operations of the library that are not named like a command. The
// messages name the command instead.
var innerOperations = []string{"view", "fill", "select", "set attributes", "inner chunks", "stat chunk", "stored", "record", "refresh", "list"}

// inCommand replaces an operation of innerOperations at the beginning of a message by the
// name of the command.
func inCommand(cmd *cobra.Command, err error, text string) string {
	var e *zarr.Error
	if !errors.As(err, &e) || !slices.Contains(innerOperations, e.Op) {
		return text
	}
	if rest, ok := strings.CutPrefix(text, e.Op+" "); ok {
		return cmd.Name() + " " + rest
	}
	return text
}

// decidedText returns the message for a decided change that the next writer will finish.
func decidedText(cmd *cobra.Command, err error) string {
	text := failure.OneLine(err)
	if console.IsInterrupted(cmd.Context(), err) {
		op, path := operation(cmd, err)
		text = fmt.Sprintf("interrupted: %s %s: %v", op, path, zarr.ErrDecided)
	}
	return text + "; do not repeat the change"
}

// operation returns the operation that failed and its node. If the error does not have
// them, they are those of the command line.
func operation(cmd *cobra.Command, err error) (op, path string) {
	var e *zarr.Error
	if errors.As(err, &e) {
		return e.Op, e.Path
	}
	return cmd.Name(), session.Subject(cmd)
}

// errorFacts is a failure in the form of --json. Members that do not apply are null.
type errorFacts struct {
	Message string  `json:"message"`
	Kind    string  `json:"kind"`
	Op      *string `json:"op"`
	Path    *string `json:"path"`
	Key     *string `json:"key"`
	Chunk   []int64 `json:"chunk"`
	Axis    *int    `json:"axis"`
}

func reportJSON(cmd *cobra.Command, err error, usage bool) {
	f := errorFacts{Message: sentence(cmd, err), Kind: string(zarr.KindOf(err))}
	switch {
	case usage:
		f.Kind = "invalid-argument"
	case console.IsInterrupted(cmd.Context(), err) && !errors.Is(err, zarr.ErrDecided):
		f.Kind = "canceled"
	}
	op, path := operation(cmd, err)
	f.Op, f.Path = &op, output.Present(path)
	var e *zarr.Error
	if errors.As(err, &e) {
		f.Key, f.Chunk = output.Present(e.Key), e.Chunk
		if e.Axis >= 0 {
			f.Axis = &e.Axis
		}
	}
	// If standard error cannot be written, the exit status is all that remains.
	_ = output.WriteJSON(cmd.ErrOrStderr(), map[string]errorFacts{"error": f})
}

// leftBehind describes what an interrupted command has changed. It returns "" if that
// depends on how far the command came.
func leftBehind(cmd *cobra.Command) string {
	if session.IsDryRun(cmd) {
		return "nothing was changed"
	}
	if f := cmd.Flags().Lookup("overwrite"); f != nil && f.Changed {
		return "" // the old node may have been removed
	}
	switch cmd.Name() {
	case "append", "resize", "unlock", "attrs", "consolidate":
		return "nothing was changed"
	case "convert":
		if cmd.Flags().NArg() == 1 {
			return "no document was changed"
		}
		return "nothing was copied"
	case "copy":
		return "nothing was copied"
	case "write":
		return "every chunk has its old elements or the new ones: repeat the command to write all of them"
	case "compact":
		if inShards, _ := cmd.Flags().GetBool("shards"); inShards {
			return "every shard is unchanged or in order: repeat the command for the others"
		}
		return rechunkLeft
	case "regularize", "rechunk", "drop", "insert":
		// What has no document yet is no node, which varve vacuum would not open.
		if follow := cmd.Flags().Lookup("follow"); cmd.Flags().NArg() == 2 && cmd.Name() == "rechunk" && (follow == nil || !follow.Changed) {
			return fmt.Sprintf("the new array is not there yet: repeat the command, which continues where it stopped, or remove what it has stored with varve rm %s --yes", phrase.Word(cmd.Flags().Arg(1)))
		}
		return rechunkLeft
	case "pyramid":
		return "the array was not changed: repeat the command"
	case "stats":
		return "no array was changed: repeat the command, which reads the rest"
	}
	return ""
}

// rechunkLeft says what an interrupted rechunk has left.
const rechunkLeft = "no array shows a part of the change: repeat the command, which continues where it stopped, or give it up with varve vacuum --give-up"
