package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// ErrSecondStore: the store is new although another store is expected, or a copy of another store.
// Servers with separate stores give out the same IDs. Starting again does not help.
var ErrSecondStore = errors.New("second store of worker IDs")

// checkStore rejects a store on this host that must not be used. Call it before the store is
// created.
func (s *Service) checkStore(ctx context.Context) (err error) {
	path := s.store.Path()
	if path == "" {
		return nil
	}
	if s.known, err = readKnown(s.cfg.KnownStores, s.cfg.Namespace); err != nil {
		s.logger.Warn("the last store of the namespace is not known: a second one may go unnoticed", "error", err)
	}
	blank, err := s.store.Blank(ctx)
	if err != nil {
		return err
	}
	id := ""
	if !blank {
		meta, err := s.store.LoadMeta(ctx)
		if err != nil && !errors.Is(err, sqlassigner.ErrTableMissing) {
			return err
		}
		id = meta.Namespace
	}
	if k := s.known; id != "" && k.ID == id && !k.isAt(path) && k.exists() {
		return fmt.Errorf("%w: %s is a copy of %s, which is still there: both give out the same IDs; use the original, or delete it "+
			"if the copy takes its place", ErrSecondStore, path, k.Path)
	}
	err = s.unexpected(path, id, blank)
	if s.cfg.NewStore {
		if err == nil && !blank {
			s.logger.Warn("new-store is set and not needed: remove it, since a store that is lost would be replaced unnoticed")
		}
		err = nil
	}
	return err
}

// unexpected rejects a store if another one of this namespace is known, and a blank store on an
// address that other hosts reach. The id "" means that the store has no namespace.
func (s *Service) unexpected(path, id string, blank bool) error {
	const remedy = "set new-store for one start, see docs/SERVING.md#one-store"
	k := s.known
	used := fmt.Sprintf("namespace %q has a store at %s, in use since %s", s.cfg.Namespace, k.Path, k.Since.Format(time.DateOnly))
	switch {
	case k.ID == "" && blank && reachable(s.cfg.Listen):
		return fmt.Errorf("%w: %s would be created, and listen %s can be reached from other hosts: servers with separate stores give out "+
			"the same IDs; set store to a store that all servers of namespace %q share; if this is the only one, %s",
			ErrSecondStore, s.store, s.cfg.Listen, s.cfg.Namespace, remedy)
	case k.ID == id || k.ID == "" || id != "" && !k.isAt(path):
		return nil
	case id != "":
		return fmt.Errorf("%w: %s, which was replaced: its ID is %s and was %s; bring the old one back, or %s", ErrSecondStore, used, id, k.ID, remedy)
	case k.exists() && !k.isAt(path):
		return fmt.Errorf("%w: %s: a new one at %s gives out the same IDs; use that one, or %s", ErrSecondStore, used, path, remedy)
	}
	return fmt.Errorf("%w: %s, which is gone or empty: a new one at %s gives out its IDs again; bring it back, or %s", ErrSecondStore, used, path, remedy)
}

// noteStore reads the ID of the store, and adds a store of this host to the known ones. It logs
// errors and goes on: the worker ID is valid all the same.
func (s *Service) noteStore(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	meta, err := s.store.LoadMeta(ctx)
	if err != nil || meta.Namespace == "" {
		s.logger.Warn("ID of the store not read: metrics lack it", "store", s.store.String(), "error", err)
		return
	}
	s.storeID = meta.Namespace
	if s.store.Path() != "" && s.cfg.KnownStores != "" {
		s.noteLocal(meta)
	}
}

func (s *Service) noteLocal(meta leasestore.Meta) {
	old, k := s.known, knownStore{Path: s.store.Path(), ID: meta.Namespace, Since: time.Now().UTC().Truncate(time.Second)}
	if old.ID == k.ID {
		k.Since = old.Since
		if old.Path != k.Path && !old.exists() {
			s.logger.Info("store was moved", "from", old.Path, "to", k.Path, "namespace", s.cfg.Namespace)
		}
	}
	if old == k {
		return
	}
	if err := k.note(s.cfg.KnownStores, s.cfg.Namespace); err != nil {
		s.logger.Warn("store not noted: if it is lost, a new one is made unnoticed", "store", s.store.String(), "error", err)
	}
}
