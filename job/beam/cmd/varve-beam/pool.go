// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// servePool starts workers in this process when an engine asks for them, until the
// context ends. It listens on the loopback address unless another one is given: whoever
// reaches the address may have this process execute tasks.
func servePool(ctx context.Context, address string) error {
	if !strings.Contains(address, ":") {
		address = "127.0.0.1:" + address
	}
	at, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	beam.Init()
	quiet(false)
	root, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server := grpc.NewServer()
	fnpb.RegisterBeamFnExternalWorkerPoolServer(server, &pool{root: root, stops: map[string]map[string]func(){}})
	defer context.AfterFunc(ctx, server.Stop)()
	return server.Serve(at)
}

// pool starts workers. That of Beam refuses a second worker with a name. But all
// TaskManagers of Flink begin with 1-1, and one that was killed does not stop its
// workers.
type pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	root context.Context

	mu    sync.Mutex
	stops map[string]map[string]func() // by names, and by the endpoints that control them
}

// StartWorker starts a worker. It replaces one with the same name of the same engine.
func (p *pool) StartWorker(_ context.Context, req *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	id, control := req.GetWorkerId(), req.GetControlEndpoint()
	if control.GetUrl() == "" || req.GetLoggingEndpoint().GetUrl() == "" {
		return &fnpb.StartWorkerResponse{Error: fmt.Sprintf("no endpoints for worker %s", id)}, nil
	}
	if control.GetAuthentication() != nil || req.GetLoggingEndpoint().GetAuthentication() != nil {
		return &fnpb.StartWorkerResponse{Error: "endpoints with authentication are not supported"}, nil
	}
	ctx, cancel := context.WithCancel(p.root)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stops[id] == nil {
		p.stops[id] = map[string]func(){}
	}
	if stop := p.stops[id][control.GetUrl()]; stop != nil {
		stop()
	}
	p.stops[id][control.GetUrl()] = cancel
	go func() {
		e := endpoints{logging: req.GetLoggingEndpoint().GetUrl(), control: control.GetUrl(), provision: req.GetProvisionEndpoint().GetUrl()}
		if err := e.serve(ctx, id); err != nil && ctx.Err() == nil {
			slog.Warn("a worker has ended", "worker", id, "error", err)
		}
	}()
	return &fnpb.StartWorkerResponse{}, nil
}

// StopWorker stops a worker. If several engines have one of that name, it stops none:
// each ends when its engine closes the connection.
func (p *pool) StopWorker(_ context.Context, req *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.stops[req.GetWorkerId()]; len(list) == 1 {
		for _, stop := range list {
			stop()
		}
	}
	delete(p.stops, req.GetWorkerId())
	return &fnpb.StopWorkerResponse{}, nil
}

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
