// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
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
