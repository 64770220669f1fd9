// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"varve.dev/zarr/internal/test/httptable"
)

// nginxConfiguration makes nginx serve files as the table has them: package serve, too,
// answers at most 16 ranges, and takes dates after that of the value.
const nginxConfiguration = `
daemon off;
%[3]s
worker_processes 1;
pid %[1]s/pid;
error_log stderr crit;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	types { application/json json; }
	default_type application/octet-stream;
	if_modified_since before;
	max_ranges 16;
	absolute_redirect off;
	autoindex on;
	server {
		listen %[2]s;
		root %[1]s/files;
	}
}
`

// startNginx starts nginx for the files of the table, and returns its address. Nginx gets
// a socket that listens already, so the port is its own.
func startNginx(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/nginx")
	}
	if err != nil {
		t.Skip("no nginx, so nothing is compared with it; run interop/web/setup")
	}
	dir := t.TempDir()
	for path, content := range map[string][]byte{httptable.Value: httptable.Content(), httptable.Empty: nil, httptable.Document: []byte("{}")} {
		name := filepath.Join(dir, "files", path)
		check(t, os.MkdirAll(filepath.Dir(name), 0o777))
		check(t, os.WriteFile(name, content, 0o666))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	check(t, err)
	defer socket.Close()
	address := l.Addr().String()
	configuration, user := filepath.Join(dir, "conf"), ""
	if os.Geteuid() == 0 {
		user = "user root;" // another one cannot read the files
	}
	check(t, os.WriteFile(configuration, fmt.Appendf(nil, nginxConfiguration, dir, address, user), 0o666))
	command := exec.Command(program, "-p", dir, "-c", configuration, "-e", "stderr")
	var complaints bytes.Buffer
	command.Stderr, command.ExtraFiles = &complaints, []*os.File{socket}
	command.Env = append(os.Environ(), "NGINX=3;")
	check(t, command.Start())
	t.Cleanup(func() {
		check(t, command.Process.Signal(syscall.SIGTERM)) // to its worker, too
		check(t, command.Wait())
		if t.Failed() {
			t.Logf("nginx: %s", &complaints)
		}
	})
	return address
}

// TestTableWithNginx holds nginx to the table of HTTP that package serve is held to, as a
// judge of the table. Where nginx answers otherwise, the table says why it may.
func TestTableWithNginx(t *testing.T) {
	server, asked, differs := &httptable.Server{Address: startNginx(t)}, 0, 0
	for _, row := range httptable.Rows() {
		if asked++; row.Differs != "" {
			differs++
		}
		if err := server.Ask(row); err != nil {
			t.Errorf("%s: %v", row.Name, err)
		}
	}
	t.Logf("%d rows, of which nginx answers %d otherwise", asked, differs)
}
