// words of results that are the host's own

/** Words of a result that say what the host has read: they are no part of what a world does, nor of a snapshot. */
export const HOST_WORDS = ["trip_status", "trip_at", "trips", "bad_terms", "epoch", "unread"] as const;
