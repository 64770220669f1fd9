// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
)

// TestServe reads two nodes from a command, and what it prints.
func TestServe(t *testing.T) {
	a, b := newNode(t, "a.zarr"), newNode(t, "b.zarr")
	r := start(t, a, "x="+b)
	if !regexp.MustCompile(`^http://127\.0\.0\.1:[1-9][0-9]*/$`).MatchString(r.base) {
		t.Errorf("it listens at %q", r.base)
	}
	for path, file := range map[string]string{"a.zarr/zarr.json": a + "/zarr.json", "x/zarr.json": b + "/zarr.json", "x/c/0": b + "/c/0"} {
		want, err := os.ReadFile(file)
		if status, text := r.get(t, path); status != 200 || err != nil || text != string(want) {
			t.Errorf("%s: status %d, %q, want %q, %v", path, status, text, want, err)
		}
	}
	for path, want := range map[string]int{"@health": 200, "@metrics": 200, "b.zarr/zarr.json": 404, "": 200} {
		if status, text := r.get(t, path); status != want {
			t.Errorf("/%s: status %d, want %d: %s", path, status, want, text)
		}
	}
	if status, _ := r.get(t, "x/zarr.json", "Host", "rebound.example"); status != 421 {
		t.Errorf("another host: status %d", status)
	}
	errs := r.stop(t)
	for _, want := range []string{r.base + "a.zarr  " + a + "\n", r.base + "x  " + b + "\n", "note: every user of this machine can read"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%s lacks %q", errs, want)
		}
	}
	if r.out.String() != "" {
		t.Errorf("standard output has %q", r.out)
	}
	if _, err := zarr.OpenArray(t.Context(), r.base+"x", nil); err == nil {
		t.Error("it answers after its end")
	}
}

// TestJSON prints one document, and the first line as always.
func TestJSON(t *testing.T) {
	r := start(t, "--json", newNode(t, "a.zarr"))
	r.get(t, "@health")
	errs := r.stop(t)
	var is announced
	if err := json.Unmarshal([]byte(r.out.String()), &is); err != nil || is.Address != r.base || len(is.Nodes) != 1 || is.Nodes[0].Address != r.base+"a.zarr" || is.Link != nil {
		t.Errorf("%v in %s", err, r.out)
	}
	if errs != "listening on "+r.base+"\n" {
		t.Errorf("standard error has %q", errs)
	}
}

// TestNames has names of nodes, and those that no address can have.
func TestNames(t *testing.T) {
	for location, want := range map[string]string{
		"era5.zarr": "era5.zarr", "a/era5.zarr/t2m/": "t2m", "data.zip": "data", "data.zip/t2m": "t2m", "archive.vz": "archive", "month.nc": "month.nc",
		"s3://bucket/era5.zarr?region=x/y": "era5.zarr", "s3://bucket": "bucket", "https://h/a%20b.zarr?token=a/b": "a b.zarr", "https://h:80": ".",
		"file:///a/b.zarr": "b.zarr",
	} {
		if got := nameOf(location); got != want {
			t.Errorf("%s has the name %q, want %q", location, got, want)
		}
	}
	a := newNode(t, "a.zarr")
	for want, args := range map[string][]string{
		"give one another name, as in a.zarr2=" + a: {a, a},
		"give another name, as in x2=" + a:          {"@x=" + a},
		"give one, as in data=https://localhost":    {"https://localhost"},
		"is empty":                                  {"x="},
		"name is empty":                             {"=" + a},
		"NODE is missing":                           {},
	} {
		if text := refusal(t, true, args...); !strings.Contains(text, want) {
			t.Errorf("%q: %s, want %q", args, text, want)
		}
	}
	for _, arg := range []string{a + "2", "x=" + a + "2"} {
		if text := refusal(t, false, arg); !strings.Contains(text, a+"2") {
			t.Errorf("%s: %s", arg, text)
		}
	}
	t.Chdir(filepath.Dir(a))
	if err := os.Rename("a.zarr", "year=2024"); err != nil {
		t.Fatal(err)
	}
	r := start(t, "year=2024")
	if status, _ := r.get(t, "year=2024/zarr.json"); status != 200 {
		t.Errorf("a folder with a sign: status %d", status)
	}
	r.stop(t)
}

// TestToken has the ways to give a token.
func TestToken(t *testing.T) {
	a, file := newNode(t, "a.zarr"), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for token, args := range map[string][]string{"from-file": {"--token-file", file, a}, "given": {"--token", "given", a}, "of-environment": {a}} {
		t.Setenv(tokenVariable, "of-environment")
		r := start(t, args...)
		for _, path := range []string{"a.zarr/zarr.json", "@health", "@metrics", ""} {
			if status, _ := r.get(t, path); status != 401 {
				t.Errorf("/%s without %s: status %d", path, token, status)
			}
			if status, _ := r.get(t, path, "Authorization", "Bearer "+token); status != 200 {
				t.Errorf("/%s with %s: status %d", path, token, status)
			}
		}
		if errs := r.stop(t); strings.Contains(errs, token+"\n") || strings.Contains(errs, "?token=") || strings.Contains(errs, "every user") {
			t.Errorf("it printed %s", errs)
		}
	}
	t.Setenv(tokenVariable, "")
	if text := refusal(t, true, "--public", "--token", "given", a); !strings.Contains(text, "leave one of them out") {
		t.Error(text)
	}
	for _, bad := range []string{"", "two words", "ümlaut", strings.Repeat("x", 5000)} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if text := refusal(t, false, "--token-file", file, a); strings.Contains(text, "two words") || strings.Contains(text, "ümlaut") {
			t.Errorf("it tells the token: %s", text)
		}
	}
	refusal(t, false, "--token-file", file+"2", a)
}

// TestMadeToken listens where other machines can connect. A token is made and needed,
// unless the data is public.
func TestMadeToken(t *testing.T) {
	a := newNode(t, "a.zarr")
	r := start(t, "--listen", "0.0.0.0:0", a)
	_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(r.base, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	r.base = "http://127.0.0.1:" + port + "/"
	if status, _ := r.get(t, "a.zarr/zarr.json"); status != 401 {
		t.Errorf("without a token: status %d", status)
	}
	link := regexp.MustCompile(`\?token=([A-Z2-7]{26})\n`).FindStringSubmatch(r.errs.String())
	if link == nil {
		t.Fatalf("no link in %s", r.errs)
	}
	if status, _ := r.get(t, "a.zarr/zarr.json", "Authorization", "Bearer "+link[1]); status != 200 {
		t.Errorf("with the token: status %d", status)
	}
	host, _ := os.Hostname()
	for name, want := range map[string]int{host + ":" + port: 200, "rebound.example": 421} {
		if status, _ := r.get(t, "a.zarr/zarr.json", "Authorization", "Bearer "+link[1], "Host", name); status != want {
			t.Errorf("host %s: status %d", name, status)
		}
	}
	if errs := r.stop(t); strings.Count(errs, link[1]) != 1 {
		t.Errorf("the token is not printed once: %s", errs)
	}
	r = start(t, "--listen", "0.0.0.0:0", "--public", "--host", "data.example", a)
	r.base = strings.Replace(r.base, "0.0.0.0", "127.0.0.1", 1)
	if status, _ := r.get(t, "a.zarr/zarr.json", "Host", "data.example"); status != 200 {
		t.Errorf("public: status %d", status)
	}
	if errs := r.stop(t); strings.Contains(errs, "token") {
		t.Errorf("it printed %s", errs)
	}
}

// TestPortInUse says what to do.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := newNode(t, "a.zarr")
	if text := refusal(t, false, "--listen", l.Addr().String(), a); !strings.Contains(text, "--listen 127.0.0.1:0") {
		t.Error(text)
	}
	for _, bad := range []string{"8000", "", "localhost"} {
		if text := refusal(t, true, "--listen", bad, a); !strings.Contains(text, "give an address with a port") {
			t.Error(text)
		}
	}
}

// TestOrigin lets a page read, and refuses what is no origin.
func TestOrigin(t *testing.T) {
	a := newNode(t, "a.zarr")
	r := start(t, "--allow-origin", "https://a.example", a)
	for origin, want := range map[string]int{"https://a.example": 200, "https://b.example": 403} {
		if status, _ := r.get(t, "a.zarr/zarr.json", "Origin", origin); status != want {
			t.Errorf("%s: status %d", origin, status)
		}
	}
	r.stop(t)
	refusal(t, true, "--allow-origin", "a.example", a)
	refusal(t, true, "--host", "a.example:80", a)
	refusal(t, true, "--max-requests", "0", a)
	refusal(t, true, "--tls-key", "k.pem", a)
	refusal(t, true, "--json", "--access-log", "-", a)
}

// TestAccessLog has a record for each request, and figures at /@metrics.
func TestAccessLog(t *testing.T) {
	a, file := newNode(t, "a.zarr"), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "--access-log", file, "--token", "secret-token", `q"=`+a)
	get := func(path string) string {
		_, text := r.get(t, path, "Authorization", "Bearer secret-token")
		return text
	}
	size := len(get("q%22/zarr.json"))
	get("q%22/none?x=secret-token")
	if status, _ := r.get(t, "q%22/zarr.json?token=wrong"); status != 401 {
		t.Errorf("status %d", status)
	}
	text := get("@metrics")
	for _, want := range []string{
		`varve_http_requests_total{kind="q\"",status="2xx"} 1`, `varve_http_requests_total{kind="q\"",status="4xx"} 2`,
		`varve_http_request_duration_seconds_bucket{kind="q\"",le="+Inf"} 3`, `varve_http_requests_in_work 1`,
		"# TYPE varve_http_requests_total counter", "# TYPE varve_http_request_duration_seconds histogram", "go_goroutines ", "process_resident_memory_bytes ", "go_memstats_alloc_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the figures lack %s: %s", want, text)
		}
	}
	r.stop(t)
	log, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	if len(lines) != 5 || bytes.Contains(log, []byte("token")) {
		t.Errorf("%s", log)
	}
	var first struct {
		Method, Path, Kind, Remote string
		Status, Bytes              int
		Seconds                    float64
	}
	if err := json.Unmarshal(lines[1], &first); err != nil || first.Method != "GET" || first.Path != `/q"/zarr.json` || first.Kind != `q"` ||
		first.Status != 200 || first.Bytes != size || first.Seconds <= 0 || first.Remote == "" {
		t.Errorf("%v in %s", err, lines[1])
	}
	out := start(t, "--access-log", "-", a)
	out.get(t, "@health")
	if out.stop(t); !strings.Contains(out.out.String(), `"kind":"@health","status":200`) {
		t.Errorf("standard output has %s", out.out)
	}
	refusal(t, false, "--access-log", filepath.Join(file, "x"), a)
}

// TestTLS serves over HTTPS, and HTTP/2.
func TestTLS(t *testing.T) {
	dir, a := t.TempDir(), newNode(t, "a.zarr")
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	r := start(t, "--tls-cert", certFile, "--tls-key", keyFile, a)
	if !strings.HasPrefix(r.base, "https://127.0.0.1:") {
		t.Errorf("it listens at %s", r.base)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	r.client = &http.Client{Transport: transport}
	is, err := r.client.Get(r.base + "a.zarr/zarr.json")
	if err != nil || is.StatusCode != 200 || is.ProtoMajor != 2 {
		t.Fatal(is, err)
	}
	is.Body.Close()
	if errs := r.stop(t); !strings.Contains(errs, r.base+"a.zarr") {
		t.Error(errs)
	}
	if text := refusal(t, false, "--tls-cert", keyFile, "--tls-key", certFile, a); !strings.Contains(text, "--tls-cert") || strings.Contains(text, "BEGIN") {
		t.Error(text)
	}
}

// TestGracefulEnd ends the command while it answers. The answer is whole, and nothing
// else is accepted meanwhile.
func TestGracefulEnd(t *testing.T) {
	a := newNode(t, "a.zarr")
	source := newSlowSource(t, filepath.Dir(a))
	r := start(t, source.url+"/a.zarr")
	type answer struct {
		status int
		text   string
	}
	done := make(chan answer)
	go func() {
		status, text := r.get(t, "a.zarr/c/0")
		done <- answer{status, text}
	}()
	<-source.asked
	r.end()
	for address := strings.Trim(strings.TrimPrefix(r.base, "http:"), "/"); ; {
		c, err := net.Dial("tcp", address)
		if err != nil {
			break // the command does not accept any more
		}
		c.Close()
	}
	select {
	case err := <-r.ended:
		t.Fatalf("it has ended: %v", err)
	default:
	}
	close(source.free)
	want, err := os.ReadFile(filepath.Join(a, "c", "0"))
	if is := <-done; err != nil || is.status != 200 || is.text != string(want) {
		t.Errorf("status %d, %q, %v", is.status, is.text, err)
	}
	if errs := r.stop(t); strings.Contains(errs, "every user") {
		t.Errorf("a web server without credentials is private: %s", errs)
	}
}

// TestCutEnd has a request that is not answered in time. It is cut.
func TestCutEnd(t *testing.T) {
	defer func(was time.Duration) { Grace = was }(Grace)
	Grace = 20 * time.Millisecond
	a := newNode(t, "a.zarr")
	source := newSlowSource(t, filepath.Dir(a))
	r := start(t, source.url+"/a.zarr")
	done := make(chan error)
	go func() {
		is, err := r.client.Get(r.base + "a.zarr/c/0")
		if err == nil {
			_, err = io.ReadAll(is.Body)
			is.Body.Close()
		}
		done <- err
	}()
	<-source.asked
	r.end()
	if err := <-done; err == nil {
		t.Error("the request is answered")
	}
	if err := <-r.ended; !errors.Is(err, context.Canceled) || !strings.Contains(failure.OneLine(err), "were cut") {
		t.Errorf("it ended with %v", err)
	}
}

// TestManyRequests refuses a request beyond --max-requests.
func TestManyRequests(t *testing.T) {
	a := newNode(t, "a.zarr")
	source := newSlowSource(t, filepath.Dir(a))
	r := start(t, "--max-requests", "1", source.url+"/a.zarr")
	done := make(chan int)
	go func() {
		status, _ := r.get(t, "a.zarr/c/0")
		done <- status
	}()
	<-source.asked
	if status, _ := r.get(t, "a.zarr/zarr.json"); status != 503 {
		t.Errorf("status %d", status)
	}
	close(source.free)
	if status := <-done; status != 200 {
		t.Errorf("the first one has status %d", status)
	}
	r.stop(t)
}

// TestSecrets serves a node of a server that needs credentials, and fails. They are in
// nothing that is answered or printed.
func TestSecrets(t *testing.T) {
	a := newNode(t, "a.zarr")
	files := http.FileServer(http.Dir(filepath.Dir(a)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "hunter2" || r.URL.Query().Get("sig") != "signature" {
			http.Error(w, "hunter2 signature", http.StatusUnauthorized)
			return
		}
		if strings.Contains(r.URL.Path, "/c/") {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer s.Close()
	location := strings.Replace(s.URL, "//", "//user:hunter2@", 1) + "/a.zarr?sig=signature"
	r := start(t, "--access-log", "-", "x="+location, location)
	seen := ""
	for _, path := range []string{"x/zarr.json", "a.zarr/zarr.json", "x/", "a.zarr/c/0", "", "@metrics"} {
		is, err := r.client.Get(r.base + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(is.Body)
		is.Body.Close()
		if strings.Contains(path, "zarr.json") && is.StatusCode != 200 || err != nil {
			t.Errorf("%s: status %d, %v", path, is.StatusCode, err)
		}
		for name, values := range is.Header {
			seen += name + strings.Join(values, " ")
		}
		seen += string(text)
	}
	seen += r.stop(t) + r.out.String()
	if !strings.Contains(seen, "every user of this machine") {
		t.Errorf("nothing says that others can read: %s", seen)
	}
	for _, secret := range []string{"hunter2", "signature", "user:"} {
		if strings.Contains(seen, secret) {
			t.Errorf("%q is in %s", secret, seen)
		}
	}
	wrong := strings.Replace(location, "hunter2", "hunter3", 1)
	if text := refusal(t, false, "x="+wrong); strings.Contains(text, "hunter3") || strings.Contains(text, "signature") {
		t.Errorf("the error is %s", text)
	}
}

// TestComplaints prints errors of stores, and panics, but not what clients do.
func TestComplaints(t *testing.T) {
	var b bytes.Buffer
	c := &complaints{w: &b}
	for _, line := range []string{"http: TLS handshake error from 127.0.0.1:1: EOF\n", "http: panic serving 127.0.0.1:1: x\n"} {
		if n, err := c.Write([]byte(line)); n != len(line) || err != nil {
			t.Error(n, err)
		}
	}
	if b.String() != "varve: http: panic serving 127.0.0.1:1: x\n" {
		t.Errorf("it printed %q", &b)
	}
}

// TestStack serves files of another format as one node, without a manifest.
func TestStack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range byte(3) {
		const header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }"
		text := "\x93NUMPY\x01\x00\x76\x00" + header + strings.Repeat(" ", 0x75-len(header)) + "\n" + string([]byte{i, i + 10})
		if err := os.WriteFile(filepath.Join(dir, string('a'+i)+".npy"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	pattern := filepath.Join(dir, "*.npy")
	for _, c := range []struct{ arg, name string }{{pattern, "runs"}, {"x=" + pattern, "x"}} {
		r := start(t, c.arg, "--stack", "run")
		g, err := zarr.OpenGroup(t.Context(), r.base+"@regular/"+c.name, nil)
		if err != nil {
			t.Fatal(err, r.errs)
		}
		found := 0
		for m, err := range g.Members(t.Context(), false) {
			if err != nil || m.Err != nil {
				t.Fatal(err, m.Err)
			}
			got, err := zarr.Read[uint8](t.Context(), m.Node.(*zarr.Array), nil)
			if err == nil && slices.Equal(got.Data, []uint8{0, 10, 1, 11, 2, 12}) {
				found++
			}
		}
		if err := g.Close(); err != nil || found != 1 {
			t.Errorf("%d arrays have the elements of the files, %v", found, err)
		}
		r.stop(t)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	if err := execute(t.Context(), io.Discard, io.Discard, pattern, "--stack", "run", "--concat", "time"); err == nil {
		t.Error("--stack and --concat together")
	}
	if err := execute(t.Context(), io.Discard, io.Discard, filepath.Join(dir, "none*.npy"), "--stack", "run"); err == nil {
		t.Error("a pattern without a file")
	}
}

// TestLastingEnd ends with a client that listens to events and one that waits for the
// next time step: neither is waited for.
func TestLastingEnd(t *testing.T) {
	r := start(t, newNode(t, "a.zarr"))
	events, err := r.client.Get(r.base + "@events/a.zarr")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	waits := make(chan int)
	go func() {
		is, err := r.client.Get(r.base + "a.zarr/next-timestep")
		if err != nil { // the server has ended before
			waits <- 0
			return
		}
		_ = is.Body.Close()
		waits <- is.StatusCode
	}()
	if _, err := events.Body.Read(make([]byte, 10)); err != nil { // the present state
		t.Fatal(err)
	}
	errs := r.stop(t)
	if _, err := io.Copy(io.Discard, events.Body); err != nil {
		t.Errorf("the stream breaks: %v", err)
	}
	if status := <-waits; status != 503 && status != 0 {
		t.Errorf("the wait ends with status %d", status)
	}
	if strings.Contains(errs, "were cut") {
		t.Error(errs)
	}
}
