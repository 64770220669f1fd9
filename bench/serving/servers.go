// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is a server in a process of its own.
type server struct {
	cmd     *exec.Cmd
	address string // host and port
	path    string // below which it serves, with a slash at the end
	pids    []int  // of all its processes
	messages
}

// messages are the last lines that a process has written.
type messages struct{ last []string }

// start starts a server that prints where it listens.
func start(ctx context.Context, args ...string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	errs, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	s.pids = []int{s.cmd.Process.Pid}
	lines := bufio.NewScanner(errs)
	for lines.Scan() {
		at, found := strings.CutPrefix(lines.Text(), "listening on ")
		if !found {
			s.last = append(s.last, lines.Text())
			continue
		}
		u, err := url.Parse(at)
		if err != nil {
			return nil, errors.Join(err, s.stop())
		}
		s.address, s.path = u.Host, u.Path
		go func() {
			for lines.Scan() { // a full pipe would stop it
			}
		}()
		return s, nil
	}
	return nil, errors.Join(fmt.Errorf("%s does not listen: %s", args[0], strings.Join(s.last, "\n")), s.stop())
}

// stop ends the server.
func (s *server) stop() error {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // it was killed
	return nil
}

// nginxConfiguration is as short as can be. Its workers send files with sendfile, and
// write no log.
const nginxConfiguration = `daemon off;
worker_processes auto;
pid %[1]s/pid;
error_log stderr;
events { worker_connections 512; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server { listen %[2]s; root %[3]s; }
}
`

// startNginx starts nginx for a folder.
func startNginx(ctx context.Context, program, dir string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	own, err := os.MkdirTemp(dir, "nginx-")
	if err != nil {
		return nil, err
	}
	// Workers of root have another user, who must see the files.
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(own, 0o755)); err != nil {
		return nil, err
	}
	conf := filepath.Join(own, "conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConfiguration, own, address, dir), 0o644); err != nil {
		return nil, err
	}
	var errs bytes.Buffer
	s := &server{cmd: exec.CommandContext(ctx, program, "-c", conf, "-e", "stderr"), address: address, path: "/"}
	s.cmd.Stderr = &errs
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		if c, err := net.Dial("tcp", address); err == nil {
			s.pids = append(children(s.cmd.Process.Pid), s.cmd.Process.Pid)
			return s, c.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, errors.Join(fmt.Errorf("nginx does not listen: %s", errs.String()), s.stop())
}

// children returns the processes that a process has started.
func children(pid int) (pids []int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, text := range strings.Fields(string(data)) {
		if n, err := strconv.Atoi(text); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// stopNginx ends the master, which ends its workers.
func (s *server) stopNginx() {
	_ = s.cmd.Process.Signal(os.Interrupt) // it may have ended
	_ = s.cmd.Wait()
}

// ticks is the number of units of time that the kernel counts in a second.
const ticks = 100

// worked returns the processor time of the server in seconds, 0 if it is unknown.
func (s *server) worked() float64 {
	sum := 0
	for _, pid := range s.pids {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			return 0
		}
		for _, text := range fields[11:13] {
			n, _ := strconv.Atoi(text)
			sum += n
		}
	}
	return float64(sum) / ticks
}

// peak returns the most memory that the server had, in bytes, 0 if it is unknown.
func (s *server) peak() int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(data)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// client is a connection to a server that is kept. It does as little as can be: the
// machine has to do both sides.
type client struct {
	conn   net.Conn
	read   *bufio.Reader
	buffer []byte
}

func dial(address string) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, read: bufio.NewReaderSize(conn, 4<<10), buffer: make([]byte, 256<<10)}, nil
}

// get asks for a path, and returns the length of the body.
func (c *client) get(path string) (int64, error) {
	if _, err := fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return 0, err
	}
	status, n := "", int64(-1)
	for first := true; ; first = false {
		line, err := c.read.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		if first {
			status = string(line)
		} else if len(line) == 0 {
			break
		} else if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			if n, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return 0, err
			}
		}
	}
	if status == "HTTP/1.1 200 OK" && n < 0 { // in pieces
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, httputil.NewChunkedReader(c.read), c.buffer)
		if err == nil {
			_, err = c.read.Discard(2) // the end of the trailer
		}
		return n, err
	}
	if status != "HTTP/1.1 200 OK" {
		return 0, fmt.Errorf("%s: %s, %d bytes", path, status, n)
	}
	for left := n; left > 0; {
		// What the buffer does not have comes past it.
		from := io.Reader(c.conn)
		if c.read.Buffered() > 0 {
			from = c.read
		}
		k, err := from.Read(c.buffer[:min(left, int64(len(c.buffer)))])
		if left -= int64(k); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// all asks for paths by some connections, each for the next one that nobody has asked
// for. It returns the seconds that takes, the bytes, and the seconds of each request.
func all(ctx context.Context, address string, connections int, paths []string) (seconds float64, size int64, each []float64, err error) {
	clients := make([]*client, connections)
	for i := range clients {
		if clients[i], err = dial(address); err != nil {
			return 0, 0, nil, err
		}
		defer clients[i].conn.Close()
	}
	var next, bytes atomic.Int64
	var g sync.WaitGroup
	errs := make([]error, connections)
	each = make([]float64, len(paths))
	begun := time.Now()
	for i, c := range clients {
		g.Go(func() {
			for ctx.Err() == nil {
				k := next.Add(1) - 1
				if k >= int64(len(paths)) {
					return
				}
				asked := time.Now()
				n, err := c.get(paths[k])
				if err != nil {
					errs[i] = err
					return
				}
				each[k] = time.Since(asked).Seconds()
				bytes.Add(n)
			}
		})
	}
	g.Wait()
	return time.Since(begun).Seconds(), bytes.Load(), each, errors.Join(append(errs, ctx.Err())...)
}
