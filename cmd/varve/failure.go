package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
)

// failure is what the work of a command ended in.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usageError is a failure because the command line cannot be meant.
type usageError struct{ error }

// badUsage returns an error for arguments that contradict each other: status 2.
func badUsage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// kindError is an error of this program with the sentinel that decides its kind, which its message leaves out.
type kindError struct{ err, kind error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// badArgument returns an error for an argument that cannot be, as one that is malformed or does not fit: status 1.
func badArgument(format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), zarr.ErrInvalidArgument}
}

// unsupported returns an error for what this version does not have.
func unsupported(format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), zarr.ErrUnsupported}
}

// notFound returns an error for what is not there.
func notFound(format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), fs.ErrNotExist}
}

// report prints why a command line failed and returns the exit status.
func report(cmd *cobra.Command, args []string, err error) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return 0
	}
	var f *failure
	var u usageError
	usage := !errors.As(err, &f) || errors.As(err, &u)
	if slices.Contains(args, "--json") || wantsJSON(cmd) {
		reportJSON(cmd, err, usage)
	} else {
		cmd.PrintErrf("varve: %s\n", printable(oneLine(err)))
		if usage {
			cmd.PrintErrf("Run '%s --help' for usage.\n", cmd.CommandPath())
		}
	}
	if usage {
		return 2
	}
	return 1
}

// oneLine returns the message of an error, which may be many errors, as one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// facts is what a program wants to know of a failure; what does not apply is null.
type facts struct {
	Message string  `json:"message"`
	Kind    string  `json:"kind"`
	Op      *string `json:"op"`
	Path    *string `json:"path"`
	Key     *string `json:"key"`
	Chunk   []int64 `json:"chunk"`
	Axis    *int    `json:"axis"`
}

func reportJSON(cmd *cobra.Command, err error, usage bool) {
	f := facts{Message: oneLine(err), Kind: zarr.Kind(err)}
	if usage {
		f.Kind = "invalid-argument"
	}
	var e *zarr.Error
	if errors.As(err, &e) {
		f.Op, f.Path, f.Key, f.Chunk = &e.Op, &e.Path, present(e.Key), e.Chunk
		if e.Axis >= 0 {
			f.Axis = &e.Axis
		}
	}
	// A standard error that cannot be written leaves the status to tell.
	_ = writeJSON(cmd.ErrOrStderr(), map[string]facts{"error": f})
}

// present returns nil for no text.
func present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
