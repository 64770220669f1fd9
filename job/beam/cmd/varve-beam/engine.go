// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
)

// prepare sets the flags of Beam that users forget. The caller calls undo at the end.
func prepare(ctx context.Context, workers int) (undo func(), err error) {
	undo = func() {}
	if err := probe(ctx, *jobopts.Endpoint); err != nil {
		return undo, err
	}
	if isHere() {
		return undo, nil
	}
	if *jobopts.Parallelism < 1 {
		// Otherwise Flink executes everything in one slot.
		if err := flag.Set("parallelism", strconv.Itoa(workers)); err != nil {
			return undo, err
		}
	}
	if *jobopts.WorkerBinary != "" {
		return undo, nil
	}
	// Otherwise Beam compiles the source of this program, which is not here.
	binary, undo, err := workerBinary()
	if err == nil {
		err = flag.Set("worker_binary", binary)
	}
	return undo, err
}

// isHere reports whether the pipeline and its workers run in this process.
func isHere() bool {
	r := strings.ToLower(*runners.Runner)
	prism := r == "" || strings.HasPrefix(r, "prism")
	return *jobopts.Endpoint == "" && prism && (*jobopts.EnvironmentType == "" || jobopts.IsLoopback())
}

// workerBinary returns the program that the engine gives to its workers: this one, or an
// empty file if they run already.
func workerBinary() (name string, undo func(), err error) {
	undo = func() {}
	if strings.EqualFold(*jobopts.EnvironmentType, "EXTERNAL") {
		f, err := os.CreateTemp("", "varve-beam-none-*")
		if err != nil {
			return "", undo, err
		}
		return f.Name(), func() { _ = os.Remove(f.Name()) }, f.Close()
	}
	if runtime.GOOS != "linux" && !jobopts.IsLoopback() {
		return "", undo, fmt.Errorf("%w: workers need a program for Linux: give one that was built with GOOS=linux CGO_ENABLED=0, by -- --worker_binary=FILE", errUsage)
	}
	name, err = os.Executable()
	return name, undo, err
}

// probing is how long the endpoint may take to answer.
const probing = 5 * time.Second

// probe returns an error if nothing listens at an endpoint. Beam tries for two minutes.
func probe(ctx context.Context, endpoint string) error {
	if endpoint == "" || strings.Contains(endpoint, "://") {
		return nil
	}
	d := net.Dialer{Timeout: probing}
	c, err := d.DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return fmt.Errorf("nothing answers at --endpoint %s: start the job server, or correct the address: %w", endpoint, err)
	}
	return c.Close()
}

// quiet leaves out what Beam logs, apart from warnings.
func quiet(verbose bool) {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	log.LogLevel = strings.ToLower(level.String())
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	log.SetLogger(leveled{level})
}

// leveled logs what is severe enough.
type leveled struct{ least slog.Level }

// Log logs a message.
func (l leveled) Log(ctx context.Context, sev log.Severity, _ int, message string) {
	level := slog.LevelInfo
	switch {
	case sev >= log.SevError:
		level = slog.LevelError
	case sev >= log.SevWarn:
		level = slog.LevelWarn
	case sev < log.SevInfo && sev != log.SevUnspecified:
		level = slog.LevelDebug
	}
	if level >= l.least {
		slog.Log(ctx, level, strings.TrimSuffix(message, "\n"))
	}
}
