package redisassigner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner/leasestore"
)

// Status reads the clock last, since the caller compares it with its own clock.
//
// Status sets no Identity. The run ID of a server changes with each restart, also when no write is
// lost, and the replication ID with each failover; neither changes when an old file is restored
// before a start. An identity would not help either: on a lossy store every claim is quarantined.
func (s *store) Status(ctx context.Context) (leasestore.Status, error) {
	now, faults, _, err := s.look(ctx)
	if err != nil {
		return leasestore.Status{}, err
	}
	return leasestore.Status{Now: now, Faults: faults, Lossy: true}, nil
}

// look returns the time of the server, its faults, and the facts of INFO. A replica is an error.
func (s *store) look(ctx context.Context) (now time.Time, wrong []string, facts map[string]string, err error) {
	node := redis.Cmdable(s.client)
	if cluster, ok := s.client.(*redis.ClusterClient); ok { // commands without a key go to any server
		if node, err = cluster.MasterForKey(ctx, root); err != nil {
			return now, nil, nil, err
		}
	}
	pipe := node.Pipeline()
	info, config, clock := pipe.Info(ctx), pipe.ConfigGet(ctx, "*appendfsync*"), pipe.Time(ctx)
	_, err = pipe.Exec(ctx)
	if configOnly := config.Err() != nil && info.Err() == nil && clock.Err() == nil; err != nil && !configOnly {
		return now, nil, nil, err
	}
	facts = make(map[string]string)
	for line := range strings.Lines(info.Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		facts[name] = value
	}
	if role := facts["role"]; role != "master" {
		return now, nil, nil, fmt.Errorf("%w: the server takes no writes, its role is %q; connect to the primary", leasestore.ErrNotDurable, role)
	}
	return clock.Val().UTC(), faults(facts, config), facts, nil
}

// faults returns the settings that let the server lose acknowledged writes. With
// no-appendfsync-on-rewrite a crash of the host loses all writes since a child process began to
// write to the disk.
func faults(facts map[string]string, config *redis.MapStringStringCmd) (faults []string) {
	if facts["aof_enabled"] != "1" {
		faults = append(faults, "appendonly=no (allowed: yes)")
	}
	settings := config.Val()
	if err := config.Err(); err != nil {
		faults = append(faults, fmt.Sprintf("CONFIG GET is denied (%v): appendfsync is unknown (allowed: always)", err))
	} else if fsync := settings["appendfsync"]; fsync != "always" {
		faults = append(faults, "appendfsync="+fsync+" (allowed: always)")
	}
	if rewrite := settings["no-appendfsync-on-rewrite"]; rewrite == "yes" {
		faults = append(faults, "no-appendfsync-on-rewrite=yes (allowed: no)")
	}
	// INFO has this fact only if both min-replicas-to-write and min-replicas-max-lag are set.
	if _, waits := facts["min_slaves_good_slaves"]; facts["connected_slaves"] != "0" && !waits {
		faults = append(faults, "min-replicas-to-write or min-replicas-max-lag is 0 with connected_slaves="+facts["connected_slaves"]+" (allowed: 1 or more, and "+
			"10): a primary that was replaced goes on taking writes")
	}
	if policy := facts["maxmemory_policy"]; facts["maxmemory"] != "0" && strings.HasPrefix(policy, "allkeys-") {
		faults = append(faults, "maxmemory-policy="+policy+" (allowed: noeviction, volatile-*): it deletes keys when memory is short")
	}
	return faults
}
