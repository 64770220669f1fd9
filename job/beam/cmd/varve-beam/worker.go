// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// endpoints are where an engine has its services for a worker.
type endpoints struct{ logging, control, provision string }

// serve works for an engine until it closes the connection, or the context ends.
func (e endpoints) serve(ctx context.Context, id string) error {
	ctx = grpcx.WriteWorkerID(ctx, id)
	var opt harness.Options
	if e.provision != "" {
		info, err := tools.ProvisionInfo(ctx, e.provision)
		if err != nil {
			return err
		}
		opt.StatusEndpoint, opt.RunnerCapabilities = info.GetStatusEndpoint().GetUrl(), info.GetRunnerCapabilities()
		if e.logging == "" {
			e.logging = info.GetLoggingEndpoint().GetUrl()
		}
		if e.control == "" {
			e.control = info.GetControlEndpoint().GetUrl()
		}
	}
	if e.control == "" || e.logging == "" {
		return fmt.Errorf("the engine has no endpoints for worker %s", id)
	}
	return harness.MainWithOptions(ctx, e.logging, e.control, opt)
}

// serveProcess is what an engine starts with --environment_type=PROCESS, in place of the
// boot program of Beam. It is the worker itself, so an engine that ends it leaves no
// child, and needs no copy of the program.
func serveProcess(ctx context.Context, args []string, notes io.Writer) error {
	f := flag.NewFlagSet("varve-beam", flag.ContinueOnError)
	f.SetOutput(notes)
	var e endpoints
	id := f.String("id", "", "")
	f.StringVar(&e.provision, "provision_endpoint", "", "")
	f.StringVar(&e.control, "control_endpoint", "", "")
	f.StringVar(&e.logging, "logging_endpoint", "", "")
	f.String("artifact_endpoint", "", "")
	f.String("semi_persist_dir", "", "")
	if err := f.Parse(args); err != nil {
		return wrongUsage(err)
	}
	beam.Init()
	quiet(false)
	return e.serve(ctx, strings.Trim(*id, "'")) // Prism 2.77 quotes it
}
