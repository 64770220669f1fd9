// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/serve"
)

// Grace is how long requests in work may take after a signal. It is a variable, so that
// tests do not wait.
var Grace = 10 * time.Second

// server is the server of the command.
type server struct {
	http   *http.Server
	log    io.Closer // the file of --access-log, or nil
	cancel context.CancelFunc

	handler *serve.Handler
	meter   *meter
	inWork  sync.RWMutex // requests in work hold it for reading
}

// newServer returns the server of nodes.
func newServer(cmd *cobra.Command, f *serveFlags, nodes []opened, who *access, certificates []tls.Certificate, base string) (*server, error) {
	s := new(server)
	records, err := s.openLog(cmd, f.log)
	if err != nil {
		return nil, err
	}
	s.meter = newMeter(records)
	errs := &complaints{w: cmd.ErrOrStderr()}
	var list []serve.Node
	for _, n := range nodes {
		list = append(list, serve.Node{Name: n.name, Location: n.at})
	}
	mount := map[string]http.Handler{"metrics": s.meter}
	if f.view {
		if mount["view"], err = newPage(cmd, f, nodes, base, slog.New(errs)); err != nil {
			return nil, errors.Join(failure.BadUsage("%w", err), s.close())
		}
	}
	s.handler, err = serve.New(list, &serve.Options{
		Hosts: who.hosts, Origins: f.origins, Token: who.token, Requests: f.requests, Budget: f.budget, Log: slog.New(errs),
		Mount: mount, Answered: s.meter.answered,
	})
	if err != nil {
		return nil, errors.Join(failure.BadUsage("%w", err), s.close())
	}
	// A signal must not end the requests in work, but for those that last.
	ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context()))
	s.cancel = cancel
	s.http = &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: 30 * time.Second},
		ErrorLog:          log.New(errs, "", 0),
	}
	s.http.RegisterOnShutdown(s.handler.Close)
	if certificates != nil {
		s.http.TLSConfig = &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}
	}
	return s, nil
}

// openLog opens the file of --access-log.
func (s *server) openLog(cmd *cobra.Command, name string) (*slog.Logger, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return slog.New(slog.NewJSONHandler(cmd.OutOrStdout(), nil)), nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, failure.BadArgument("--access-log: %w", err)
	}
	s.log = file
	return slog.New(slog.NewJSONHandler(file, nil)), nil
}

// close ends what the server holds.
func (s *server) close() error {
	if s.cancel != nil {
		s.cancel()
	}
	if s.log != nil {
		return s.log.Close()
	}
	return nil
}

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.inWork.RLock()
	defer s.inWork.RUnlock()
	s.meter.inWork.Add(1)
	defer s.meter.inWork.Add(-1)
	s.handler.ServeHTTP(w, r)
}

// serve answers requests until ctx ends:
//
//  1. No further connection is accepted.
//  2. Requests in work are answered, for at most [Grace].
//  3. What is left then is cut, which is the error.
func (s *server) serve(ctx context.Context, l *listener) error {
	console.OnInterrupt(ctx, "finishing requests; Ctrl-C again ends the server at once")
	ended := make(chan error, 1)
	go func() {
		if s.http.TLSConfig != nil {
			ended <- s.http.ServeTLS(l, "", "")
			return
		}
		ended <- s.http.Serve(l)
	}()
	select {
	case err := <-ended:
		return err // the listener fails
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace)
	defer cancel()
	err := s.http.Shutdown(limited)
	<-ended
	if err == nil {
		return nil
	}
	_ = s.http.Close() // the connections are lost in any case
	s.cancel()         // afterwards, so that no request is answered with this as its error
	s.settle()
	return failure.Leftover(ctx.Err(), "requests that were not answered within %s were cut", phrase.Duration(Grace))
}

// settle waits until the requests that were cut have noticed it, because the stores will
// be closed. A file system that does not answer must not keep the command from ending.
func (s *server) settle() {
	ended := make(chan struct{})
	go func() {
		s.inWork.Lock()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Second):
	}
}

// complaints prints the errors of stores, and those of package net/http that are not the
// doing of a client.
type complaints struct {
	mu sync.Mutex
	w  io.Writer
}

// Enabled implements [slog.Handler].
func (c *complaints) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle implements [slog.Handler].
func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if err, is := a.Value.Any().(error); is {
			text += ": " + failure.OneLine(err)
		} else {
			text += " " + a.Value.String()
		}
		return true
	})
	return c.print(text)
}

// WithAttrs implements [slog.Handler]. Package serve does not use it.
func (c *complaints) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup implements [slog.Handler]. Package serve does not use it.
func (c *complaints) WithGroup(string) slog.Handler { return c }

// Write implements [io.Writer], for package net/http.
func (c *complaints) Write(line []byte) (int, error) {
	text := string(line)
	if strings.Contains(text, "panic") || strings.Contains(text, "Accept error") {
		return len(line), c.print(strings.TrimSpace(text))
	}
	return len(line), nil
}

func (c *complaints) print(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := fmt.Fprintf(c.w, "varve: %s\n", phrase.Printable(text))
	return err
}
