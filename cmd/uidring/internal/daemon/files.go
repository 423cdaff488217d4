package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// lookEvery is the time between two looks at the files. Reading them finds changes on network file
// systems and behind links, too, as Kubernetes makes them.
const lookEvery = time.Second

// A watchedFile is a value that is read from files again when they change. Unreadable or invalid
// files leave the value unchanged. Use it from one goroutine at a time.
type watchedFile struct {
	name   string   // for log records and errors
	files  []string // in the order of the contents
	secret string   // the file that other users must not read
	// use parses the contents, puts the value into use and describes it.
	use func(contents [][]byte) (description string, err error)

	description string
	used        [][]byte // the last contents of load, valid or not
	looked      [][]byte // the contents at the last look
}

// errShared: only a start refuses it, since a token that moves is in both files between two reads.
var errShared = errors.New("tokens and lease-tokens share a token, allowed: different ones; a client for IDs must not change leases")

// watchTokens puts the tokens of a file, which a setting names, into current.
func watchTokens(setting, file string, current, others *atomic.Pointer[httpapi.Tokens]) *watchedFile {
	return &watchedFile{name: setting, files: []string{file}, secret: file, use: func(contents [][]byte) (string, error) {
		tokens, err := httpapi.ParseTokens(contents[0])
		if err != nil {
			return "", err
		}
		current.Store(&tokens)
		if tokens.Shares(*others.Load()) {
			return fmt.Sprintf("%s; the next start is refused: %v", tokens, errShared), nil
		}
		return tokens.String(), nil
	}}
}

// watchCertificate puts the certificate of two PEM files into current: the first has the
// certificate and its chain, the second the key.
func watchCertificate(cert, key string, current *atomic.Pointer[tls.Certificate]) *watchedFile {
	return &watchedFile{name: "certificate", files: []string{cert, key}, secret: key, use: func(contents [][]byte) (string, error) {
		pair, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return "", fmt.Errorf("tls-cert %s, tls-key %s: %w", cert, key, err)
		}
		end := pair.Leaf.NotAfter.UTC().Format(time.RFC3339)
		if time.Now().After(pair.Leaf.NotAfter) {
			return "", fmt.Errorf("tls-cert %s: expired at %s, allowed: a valid certificate", cert, end)
		}
		current.Store(&pair)
		return fmt.Sprintf("%s, until %s", pair.Leaf.Subject, end), nil
	}}
}

// load puts contents into use unless there is an error of read. It warns if other users of the host
// can read or change the secret file, but accepts it: Kubernetes mounts secrets with mode 0644.
func (f *watchedFile) load(logger *slog.Logger, contents [][]byte, err error) error {
	if f.used = contents; err == nil {
		f.description, err = f.use(contents)
	}
	info, errStat := os.Stat(f.secret)
	if errStat == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o006 != 0 {
		logger.Warn(f.name+": other users of this host can read or change a secret file", "file", f.secret,
			"mode", fmt.Sprintf("%04o", info.Mode().Perm()), "allowed", "0640 or less, such as 0600")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// refresh loads the files if asked is true, as on SIGHUP, or if they have changed before the last
// look: a certificate and its key are two files, which change one after the other.
func (f *watchedFile) refresh(asked bool, logger *slog.Logger) {
	contents, err := f.read()
	settled := slices.EqualFunc(contents, f.looked, slices.Equal)
	f.looked = contents
	if !asked && (!settled || slices.EqualFunc(contents, f.used, slices.Equal)) {
		return
	}
	if err := f.load(logger, contents, err); err != nil {
		logger.Warn(f.name+" not loaded, the old contents stay in use", "files", f.files, "error", err)
		return
	}
	f.log(logger)
}

func (f *watchedFile) log(logger *slog.Logger) {
	logger.Info(f.name+" loaded", "files", f.files, "contents", f.description)
}

func (f *watchedFile) read() (contents [][]byte, err error) {
	for _, file := range f.files {
		content, errRead := os.ReadFile(file)
		contents, err = append(contents, content), errors.Join(err, errRead)
	}
	return contents, err
}

// watch looks at the files until ctx ends, and loads them on each hangup.
func (s *Service) watch(ctx context.Context, hangup <-chan os.Signal) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			if asked = true; len(s.files) == 0 {
				s.logger.Info("SIGHUP: no certificate and no tokens are set")
			}
		case <-tick.C:
		}
		for _, f := range s.files {
			f.refresh(asked, s.logger)
		}
	}
}
