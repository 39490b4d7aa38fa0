"""Test-only stand-in for a Qdrant server: a gRPC front over the local engine of the PyPI package qdrant-client.

    qdrant_front.py 127.0.0.1:PORT DIR

Speaks the real protocol (collections, points, health) to any gRPC client and keeps its data in DIR. It is not the server:
no HNSW, no payload index (creating one is accepted and ignored), no auth, linear scan (it warns over 20,000 points).
Known differences from a server 1.18, on which no test may rest:

    call                                       server              here
    query with an unknown vector name          INVALID_ARGUMENT    NOT_FOUND
    set_payload on a missing point             NOT_FOUND           INVALID_ARGUMENT
    scroll with order_by, no range index       INVALID_ARGUMENT    empty result
    query of a wrong dimension                 clear text          numpy's text (both INVALID_ARGUMENT)
    fusion (RRF) of equally scored hits        one order of ties   another
"""
import sys, threading
from concurrent import futures
import grpc
from qdrant_client import QdrantClient, grpc as g
from qdrant_client.conversions.conversion import GrpcToRest as G2R, RestToGrpc as R2G
from qdrant_client.grpc import points_service_pb2_grpc as pg, collections_service_pb2_grpc as cg, qdrant_pb2_grpc as qg

L = threading.RLock()
def opt(m, f, conv=lambda x: x, default=None): return conv(getattr(m, f)) if m.HasField(f) else default
def call(fn):
    def w(self, req, ctx):
        with L:
            try: return fn(self, req, ctx)
            except (ValueError, KeyError) as e:
                s = str(e)
                ctx.abort(grpc.StatusCode.NOT_FOUND if 'not found' in s else grpc.StatusCode.INVALID_ARGUMENT, s)
    return w
def ok(): return g.PointsOperationResponse(result=g.UpdateResult(operation_id=0, status=g.UpdateStatus.Completed), time=0.0)
def fl(r, f='filter'): return opt(r, f, G2R.convert_filter)
def wp(r): return opt(r, 'with_payload', G2R.convert_with_payload_selector, False)
def wv(r): return opt(r, 'with_vectors', G2R.convert_with_vectors_selector, False)

class Q(qg.QdrantServicer):
    def HealthCheck(self, r, c): return g.HealthCheckReply(title='qdrant - vector search engine', version='1.20.0')

class C(cg.CollectionsServicer):
    def __init__(s, db): s.db = db
    @call
    def CollectionExists(s, r, c): return g.CollectionExistsResponse(result=g.CollectionExists(exists=s.db.collection_exists(r.collection_name)))
    @call
    def List(s, r, c): return g.ListCollectionsResponse(collections=[g.CollectionDescription(name=x.name) for x in s.db.get_collections().collections])
    @call
    def Create(s, r, c):
        if s.db.collection_exists(r.collection_name): c.abort(grpc.StatusCode.ALREADY_EXISTS, f'Wrong input: Collection `{r.collection_name}` already exists!')
        s.db.create_collection(r.collection_name, vectors_config=opt(r, 'vectors_config', G2R.convert_vectors_config, {}),
            sparse_vectors_config=opt(r, 'sparse_vectors_config', G2R.convert_sparse_vector_config))
        return g.CollectionOperationResponse(result=True)
    @call
    def Delete(s, r, c): return g.CollectionOperationResponse(result=s.db.delete_collection(r.collection_name))
    @call
    def Get(s, r, c):
        i = s.db.get_collection(r.collection_name)
        return g.GetCollectionInfoResponse(result=g.CollectionInfo(status=g.CollectionStatus.Green, points_count=i.points_count, segments_count=1,
            optimizer_status=g.OptimizerStatus(ok=True),
            config=g.CollectionConfig(params=g.CollectionParams(shard_number=1), hnsw_config=g.HnswConfigDiff(m=16, ef_construct=100, full_scan_threshold=10000),
                optimizer_config=g.OptimizersConfigDiff(deleted_threshold=0.2, vacuum_min_vector_number=1000, default_segment_number=1, flush_interval_sec=5), wal_config=g.WalConfigDiff(wal_capacity_mb=32, wal_segments_ahead=0))))

class P(pg.PointsServicer):
    def __init__(s, db): s.db = db
    @call
    def Upsert(s, r, c): s.db.upsert(r.collection_name, [G2R.convert_point_struct(p) for p in r.points]); return ok()
    @call
    def Delete(s, r, c): s.db.delete(r.collection_name, G2R.convert_points_selector(r.points)); return ok()
    @call
    def SetPayload(s, r, c): s.db.set_payload(r.collection_name, G2R.convert_payload(r.payload), G2R.convert_points_selector(r.points_selector), key=opt(r, 'key')); return ok()
    @call
    def OverwritePayload(s, r, c): s.db.overwrite_payload(r.collection_name, G2R.convert_payload(r.payload), G2R.convert_points_selector(r.points_selector)); return ok()
    @call
    def DeletePayload(s, r, c): s.db.delete_payload(r.collection_name, list(r.keys), G2R.convert_points_selector(r.points_selector)); return ok()
    @call
    def CreateFieldIndex(s, r, c):
        if not s.db.collection_exists(r.collection_name): raise ValueError(f'Collection {r.collection_name} not found')
        return ok()   # the local engine has no payload index
    @call
    def Get(s, r, c): return g.GetResponse(result=[R2G.convert_record(x) for x in s.db.retrieve(r.collection_name, [G2R.convert_point_id(i) for i in r.ids], wp(r), wv(r))])
    @call
    def Scroll(s, r, c):
        v, n = s.db.scroll(r.collection_name, fl(r), opt(r, 'limit', default=10), opt(r, 'order_by', G2R.convert_order_by), opt(r, 'offset', G2R.convert_point_id), wp(r), wv(r))
        return g.ScrollResponse(result=[R2G.convert_record(x) for x in v], next_page_offset=None if n is None else R2G.convert_extended_point_id(n))
    @call
    def Count(s, r, c): return g.CountResponse(result=g.CountResult(count=s.db.count(r.collection_name, fl(r)).count))
    @call
    def Query(s, r, c):
        q = G2R.convert_query_points(r)
        v = s.db.query_points(r.collection_name, query=q.query, using=q.using, prefetch=q.prefetch, query_filter=q.filter, limit=q.limit or 10,
            offset=q.offset, score_threshold=q.score_threshold, with_payload=q.with_payload or False, with_vectors=q.with_vector or False)
        return g.QueryResponse(result=[R2G.convert_scored_point(x) for x in v.points])

def main():
    addr, path = sys.argv[1:3]
    assert addr.startswith('127.0.0.1:')
    db = QdrantClient(path=path, force_disable_check_same_thread=True)
    srv = grpc.server(futures.ThreadPoolExecutor(8), options=[('grpc.max_receive_message_length', 64 << 20)])
    qg.add_QdrantServicer_to_server(Q(), srv); cg.add_CollectionsServicer_to_server(C(db), srv); pg.add_PointsServicer_to_server(P(db), srv)
    srv.add_insecure_port(addr); srv.start(); print('listening', addr, flush=True); srv.wait_for_termination()
main()
